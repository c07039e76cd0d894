import { eventually } from '../eventually.ts'
import { sender } from '../http/sender.ts'
import { type Spawned, spawnService } from './spawned-service.ts'

/** `portcullis serve --processes`, once each process serves. */
export async function spawnCluster(env: Readonly<Record<string, string>>, cwd: string, processes = 2) {
  const service = await spawnService(env, cwd, ['--processes', `${processes}`])
  await eventually('each process', () => serving(service).length === processes)
  return service
}

/** The processes of a cluster that serve. */
export function serving({ errors }: Pick<Spawned, 'errors'>): number[] {
  const listening = errors.filter((line) => line.includes('"msg":"listening"'))
  return listening.map((line) => Number(JSON.parse(line).process)).filter(isAlive)
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Clients that read something again and again, each over a connection of its own, until they are stopped. */
export function readers(url: string, path: string, headers: Readonly<Record<string, string>>, count: number) {
  const failed: string[] = []
  const begun = new Set<object>()
  let answered = 0
  let isOver = false
  const reading = Array.from({ length: count }, async () => {
    const client = sender(url)
    while (!isOver) {
      try {
        const { status } = await client.get(path, headers)
        answered += 1
        begun.add(client)
        if (status !== 200) failed.push(`${status}`)
      } catch (fault) {
        failed.push(String(fault))
      }
    }
    client.close()
  })
  return {
    failed,
    /** Resolves when each client has had an answer. */
    begun: () => eventually('an answer for each client', () => begun.size === count),
    /** Resolves after so many further answers. */
    more(answers: number) {
      const wanted = answered + answers
      return eventually(`${answers} answers`, () => answered >= wanted)
    },
    async stop(): Promise<number> {
      isOver = true
      await Promise.all(reading)
      return answered
    },
  }
}
