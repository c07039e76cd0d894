import { Unavailable } from '../../domain/refusal.ts'

/** Room for so many at once. Who finds none waits: first come, first served. */
export interface Room {
  readonly waiting: number
  /**
   * Resolves to whoever has to call `leave` in the end. Throws `Unavailable` after `patienceSeconds`, and once the room
   * is shut.
   *
   * @param stillNone called after each second of waiting
   */
  enter(patienceSeconds: number, stillNone: () => void): Promise<void>
  leave(): void
  /** Lets nobody in any more. */
  shut(): void
}

interface Waiting {
  readonly letIn: () => void
  readonly turnAway: () => void
}

export function roomFor(most: number): Room {
  const waiting = new Set<Waiting>()
  let inside = 0
  let isShut = false

  function turn(patienceSeconds: number, stillNone: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const nudge = setInterval(stillNone, 1000)
      const patience = setTimeout(() => one.turnAway(), patienceSeconds * 1000)
      // Nobody is let in who was turned away: what ends the waiting takes its place in the queue at once.
      const end = (): void => {
        clearInterval(nudge)
        clearTimeout(patience)
        waiting.delete(one)
      }
      const one: Waiting = {
        letIn() {
          end()
          resolve()
        },
        turnAway() {
          end()
          reject(new Unavailable(`no room beside ${most} others`))
        },
      }
      waiting.add(one)
    })
  }

  return {
    get waiting() {
      return waiting.size
    },

    async enter(patienceSeconds, stillNone) {
      if (isShut) throw new Unavailable('nobody is let in any more')
      if (inside >= most) return turn(patienceSeconds, stillNone)
      inside++
    },

    leave() {
      const [next] = waiting
      if (next === undefined) inside--
      else next.letIn()
    },

    shut() {
      isShut = true
      for (const { turnAway } of [...waiting]) turnAway()
    },
  }
}
