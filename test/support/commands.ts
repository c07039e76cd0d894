import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectRoot } from './readme-blocks.ts'
import { scratchFolder } from './spawned-service.ts'

/**
 * A folder that looks to commands like a clone whose first `npm start` is over, and in which they write. npm and
 * Node follow the links, so that it is the project itself that runs.
 */
export function workingCopy(): string {
  const folder = scratchFolder()
  for (const name of ['package.json', 'bin', 'scripts', 'node_modules', 'dist', 'examples']) {
    symlinkSync(join(projectRoot, name), join(folder, name))
  }
  return folder
}

/** The environment of a person who has set nothing but `settings`: npm, mocha and Node leave much in ours. */
export function environmentOf(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|PORTCULLIS_)/i.test(name))
  return { ...Object.fromEntries(inherited), ...settings }
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
})

export type Command = ReturnType<typeof startCommand>

/** Starts a command in a process group of its own, as a shell in a terminal does. */
export function startCommand(words: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const [program = '', ...args] = words
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
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
    return code ?? signal ?? 'unknown'
  })

  return {
    output,
    ended,
    /** Resolves to what `pattern` finds in standard error; rejects when the command ends without saying it. */
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
    /** A signal to all of the group: what a terminal makes of Ctrl-C. */
    killGroup(signal: NodeJS.Signals): void {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    },
  }
}

/**
 * `wanted` where nobody listens there, otherwise one that nobody is given by the system: until it is listened on again,
 * a port of the ephemeral range (RFC 6335 section 6; on Linux from 32768 on) may become somebody else's.
 */
export async function portNear(wanted: number): Promise<number> {
  const another = (): number => 20_000 + Math.floor(Math.random() * 12_000)
  for (let port = wanted === 0 ? another() : wanted; ; port = another()) {
    const server = createServer()
    server.listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
