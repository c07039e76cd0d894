type Task = () => void

const mostPerIteration = 16

/**
 * Begins at most 16 tasks in each iteration of the event loop, in order of arrival. Node accepts one connection per
 * iteration: if an iteration served hundreds of requests of a flood, new connections would wait for seconds.
 */
export function requestPacing(): (task: Task) => void {
  const waiting: Task[] = []
  let begun = 0

  function begin(task: Task): void {
    if (begun === 0) setImmediate(nextIteration)
    begun += 1
    task()
  }

  function nextIteration(): void {
    begun = 0
    for (const task of waiting.splice(0, mostPerIteration)) begin(task)
  }

  return (task) => {
    if (begun < mostPerIteration) begin(task)
    else waiting.push(task)
  }
}
