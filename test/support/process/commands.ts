import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from '../project/readme-blocks.ts'
import { scratchFolder } from '../services/spawned-service.ts'

/** A folder like a clone after its first `npm start`, in which commands write. Its links lead to the project itself. */
export function workingCopy(): string {
  const folder = scratchFolder()
  for (const name of ['package.json', 'bin', 'scripts', 'node_modules', 'dist', 'examples']) {
    symlinkSync(join(projectRoot, name), join(folder, name))
  }
  return folder
}

/** Our environment with `settings`, and without the variables that npm, Node and mocha have set. */
export function environmentOf(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|PORTCULLIS_)/i.test(name))
  return { ...Object.fromEntries(inherited), ...settings }
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL')
})

/** Sends a signal to the child and its children; they may have ended already. */
function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {}
}

export type Command = ReturnType<typeof startCommand>

/** Starts a command in a process group of its own, as a shell in a terminal does. */
export function startCommand(words: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const [program = '', ...args] = words
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const timer = setTimeout(() => killGroup(child, 'SIGKILL'), 170_000)
  const output = { standard: '', error: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.standard += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.error += text
  })
  /** The exit code, or the name of the signal that ended it. */
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    running.delete(child)
    clearTimeout(timer)
    return code ?? signal ?? 'unknown'
  })

  return {
    output,
    ended,
    /** Waits until `pattern` matches standard error; rejects when the command ends before. */
    async says(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(output.error)
        if (found !== null) return found
        const how = await Promise.race([ended, delay(20, 'running')])
        if (how !== 'running') throw new Error(`${words.join(' ')} ended (${how}):\n${output.error}`)
      }
    },
    /** A signal to the command alone. */
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** A signal to all of the group, as a terminal sends at Ctrl-C. */
    killGroup: (signal: NodeJS.Signals) => killGroup(child, signal),
  }
}
