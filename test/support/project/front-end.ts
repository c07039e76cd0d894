import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../eventually.ts'
import { environmentOf, startCommand } from '../process/commands.ts'
import { scratchFolder } from '../services/spawned-service.ts'
import { compile } from './compiler.ts'
import { projectRoot } from './readme-blocks.ts'

const run = promisify(execFile)
const packageAt = (name: string): string => join(projectRoot, 'node_modules', name)
const viteProgram = [process.execPath, join(packageAt('vite'), 'bin', 'vite.js')]

/** A front end in a folder of its own. Its packages are links to this checkout. */
export class FrontEnd {
  readonly folder = scratchFolder()

  constructor() {
    // Vite writes its cache into node_modules, so this folder is no link itself.
    mkdirSync(join(this.folder, 'node_modules'))
    for (const name of ['vite', 'openapi-fetch']) symlinkSync(packageAt(name), join(this.folder, 'node_modules', name))
  }

  write(name: string, text: string): void {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  /** Runs a command `npx … openapi-typescript@7 …` of a page. */
  async makeTypes(command: string): Promise<void> {
    const [, words = ''] = /openapi-typescript@\d+ (.+)/.exec(command) ?? []
    const preload = join(projectRoot, 'test', 'support', 'project', 'typescript-5.mjs')
    const program = join(packageAt('openapi-typescript'), 'bin', 'cli.js')
    await run(process.execPath, ['--import', preload, program, ...words.split(' ')], { cwd: this.folder })
  }

  /** Returns the faults. */
  compile(): Promise<string> {
    return compile('tsconfig.json', this.folder)
  }

  async build(env: Readonly<Record<string, string>>): Promise<void> {
    const [node = '', ...words] = viteProgram
    await run(node, [...words, 'build'], { cwd: this.folder, env: environmentOf(env) })
  }

  /** Starts the dev server, or the one for a built front end. Returns its end. */
  async serve(port: number, mode: 'dev' | 'preview'): Promise<() => Promise<unknown>> {
    const words = [mode, '--host', 'localhost', '--port', `${port}`, '--strictPort']
    const server = startCommand([...viteProgram, ...words], this.folder, environmentOf({}))
    const url = `http://localhost:${port}/`
    // Any status means that it listens: a page at / is not needed.
    const answers = () =>
      fetch(url).then(
        () => true,
        () => false,
      )
    await eventually('the server of Vite', answers)
    return () => {
      server.killGroup('SIGTERM')
      return server.ended
    }
  }
}
