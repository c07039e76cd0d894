import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eventually } from '../support/eventually.ts'
import type { PrintedEvent } from '../support/service.ts'
import type { Acts, Asked, Outcome } from './embedding-process.ts'

type Value<K extends keyof Acts> = Awaited<ReturnType<Acts[K]>>

type Ask = <K extends keyof Acts>(caller: number, act: K, ...input: Parameters<Acts[K]>) => Promise<Outcome<Value<K>>>

/** Several processes that embed the use cases on one store. */
export interface EmbeddingProcesses {
  /** Has the process of the caller with this number do it; callers are spread over the processes. */
  ask: Ask
  /** As `ask`, where nothing else than success is expected. */
  need<K extends keyof Acts>(caller: number, act: K, ...input: Parameters<Acts[K]>): Promise<Value<K>>
  /** What handlers were told in any of them. */
  readonly events: readonly PrintedEvent[]
  /** Lines of their standard errors. */
  readonly errors: readonly string[]
  event(wanted: (event: PrintedEvent) => boolean): Promise<PrintedEvent>
  /** Answers their exit codes. */
  stop(): Promise<readonly unknown[]>
}

const script = fileURLToPath(new URL('embedding-process.ts', import.meta.url))

export async function startEmbeddingProcesses(count: number, dataFolder: string): Promise<EmbeddingProcesses> {
  const events: PrintedEvent[] = []
  const errors: string[] = []
  const waiting = new Map<number, (outcome: Outcome<unknown>) => void>()
  let asked = 0

  async function start(): Promise<ChildProcess> {
    const child = fork(script, [dataFolder], {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)))
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => errors.push(line))
    const [first] = await Promise.race([once(child, 'message'), once(child, 'exit')])
    if (first !== 'ready') throw new Error(`a process ended:\n${errors.join('\n')}`)
    child.on('message', ({ id, outcome }: { id: number; outcome: Outcome<unknown> }) => waiting.get(id)?.(outcome))
    return child
  }
  // All at the same time, on a store that holds nothing, not even tables.
  const children = await Promise.all(Array.from({ length: count }, start))

  const ask: Ask = async (caller, act, ...input) => {
    const id = ++asked
    const answered = new Promise<Outcome<unknown>>((resolve) => waiting.set(id, resolve))
    const message: Asked = { id, act, input }
    children[caller % count]?.send(message)
    const outcome = await answered
    waiting.delete(id)
    return outcome as Outcome<Value<typeof act>> // safe: the process did this very act
  }

  return {
    ask,
    async need<K extends keyof Acts>(caller: number, act: K, ...input: Parameters<Acts[K]>): Promise<Value<K>> {
      const outcome = await ask<K>(caller, act, ...input)
      if ('value' in outcome) return outcome.value
      throw new Error(`${act}: ${JSON.stringify(outcome)}`)
    },
    events,
    errors,
    event: (wanted) => eventually('such an event', () => events.find(wanted)),
    async stop() {
      await delay(100) // what handlers were just told is on its way
      const ends = children.map((child) => once(child, 'exit')) // `close` does not come after a disconnect
      for (const child of children) child.disconnect()
      return (await Promise.all(ends)).map(([code]) => code)
    },
  }
}
