import { readdirSync, readFileSync } from 'node:fs'
import { eventually } from '../eventually.ts'

/** The states of the threads of a process; `T` is one that was stopped (proc_pid_stat(5)). */
function statesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
  })
}

/** Stops processes until SIGCONT. A busy machine runs a thread on for a moment after the signal. */
export async function hang(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  await eventually('processes that stand still', () =>
    pids.every((pid) => statesOf(pid).every((state) => state === 'T')),
  )
}
