import { largestNetworkOf } from '../../../domain/client-networks.ts'

type Task = () => void
type Client = string | null

const mostPerIteration = 16

/**
 * Begins at most 16 tasks in each iteration of the event loop; clients with waiting tasks take turns, an IPv6 /48 as one.
 * Node accepts one connection per iteration: if an iteration served hundreds of requests of a flood, new connections would
 * wait for seconds.
 */
export function requestPacing(): (task: Task, clientOf: () => Client) => void {
  /** In the order of their turns. */
  const waiting = new Map<Client, Task[]>()
  let begun = 0

  function begin(task: Task): void {
    if (begun === 0) setImmediate(nextIteration)
    begun += 1
    task()
  }

  function nextIteration(): void {
    begun = 0
    while (begun < mostPerIteration) {
      const [next] = waiting
      if (next === undefined) return
      const [client, tasks] = next
      const task = tasks.shift()
      waiting.delete(client)
      if (tasks.length > 0) waiting.set(client, tasks)
      if (task !== undefined) begin(task)
    }
  }

  return (task, clientOf) => {
    if (begun < mostPerIteration) return begin(task)
    const known = clientOf()
    const client = known && largestNetworkOf(known)
    const tasks = waiting.get(client)
    if (tasks === undefined) waiting.set(client, [task])
    else tasks.push(task)
  }
}
