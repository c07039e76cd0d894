import { isBusy, type WriteSome, writeSomeTo } from './without-waiting.ts'

/** A line of which nothing or a part has been taken. */
interface Printing {
  rest: Buffer
  isBegun: boolean
  /** By `performance.now`: it is not begun later. */
  readonly until: number
  printed(): void
  failed(error: Error): void
}

const newline = Buffer.from('\n')
const nothing = Buffer.alloc(0)
const retryMilliseconds = 10

/** Standard output closed, full, or not read. */
class NotPrinted extends Error {
  override readonly name = 'NotPrinted'
}

/**
 * Prints whole lines, one after the other; resolves when a line has been taken. Nothing else waits for a slow reader,
 * nor for a terminal that is stopped. Rejects when a line cannot be written, or is not taken in time: its event is
 * delivered again.
 */
export function linePrinter(writeSome: WriteSome = writeSomeTo(1), patienceMilliseconds = 5_000) {
  const waiting: Printing[] = []
  let isTorn = false
  let retry: NodeJS.Timeout | null = null

  function print(): void {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      try {
        const torn = isTorn ? newline : nothing
        const taken = writeSome(Buffer.concat([torn, first.rest])) - torn.length
        isTorn = false
        first.rest = first.rest.subarray(taken)
        first.isBegun ||= taken > 0
        if (first.rest.length > 0) continue
        first.printed()
      } catch (thrown) {
        if (isBusy(thrown)) {
          later()
          return
        }
        isTorn ||= first.isBegun
        first.failed(new NotPrinted('standard output cannot be written', { cause: thrown }))
      }
      waiting.shift()
    }
  }

  function later(): void {
    retry ??= setTimeout(() => {
      retry = null
      giveUp()
      print()
    }, retryMilliseconds).unref()
  }

  function giveUp(): void {
    const late = waiting.filter(({ until }) => until < performance.now())
    for (const { failed } of late) failed(new NotPrinted('nobody reads standard output'))
    const kept = waiting.filter((one) => one.isBegun || !late.includes(one))
    waiting.splice(0, waiting.length, ...kept)
  }

  return (line: string): Promise<void> =>
    new Promise((printed, failed) => {
      const until = performance.now() + patienceMilliseconds
      waiting.push({ rest: Buffer.from(line), isBegun: false, until, printed, failed })
      if (retry === null) print()
    })
}
