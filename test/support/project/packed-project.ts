import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { writeApiPage } from '../../../scripts/api-page.ts'
import { build } from '../../../scripts/prepare.mjs'
import { environmentOf } from '../process/commands.ts'
import { compile } from './compiler.ts'
import { projectFile, projectRoot } from './readme-blocks.ts'

const run = promisify(execFile)

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

/**
 * A new project in a folder of its own, with the tarball of `npm pack` installed. Dependencies, and the types of Node and
 * Koa, are links to this checkout.
 */
export class PackedProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'portcullis-packed-'))
  readonly installed = join(this.folder, 'node_modules', 'portcullis')

  /** The path of the packed file. */
  get tarball(): string {
    const [name = ''] = readdirSync(this.folder).filter((file) => file.endsWith('.tgz'))
    return join(this.folder, name)
  }

  static async create(): Promise<PackedProject> {
    await build()
    writeApiPage()
    const project = new PackedProject()
    await project.#install()
    return project
  }

  async #install(): Promise<void> {
    const { folder, installed } = this
    const env = environmentOf({ npm_config_cache: join(folder, '.npm') })
    // The scripts would build again.
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: projectRoot, env })
    mkdirSync(installed, { recursive: true })
    await run('tar', ['-xzf', this.tarball, '-C', installed, '--strip-components=1'])
    // Safe: the project's own manifest.
    const { dependencies } = JSON.parse(projectFile('package.json')) as Manifest
    for (const name of [...Object.keys(dependencies), '@types/koa', '@types/node']) {
      const target = join(folder, 'node_modules', name)
      mkdirSync(dirname(target), { recursive: true })
      symlinkSync(join(projectRoot, 'node_modules', name), target)
    }
    this.write('package.json', JSON.stringify({ name: 'a-project', type: 'module' }))
  }

  /** Every file that was installed, by its path in the package. */
  files(): string[] {
    const all = readdirSync(this.installed, { recursive: true, withFileTypes: true })
    return all
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.installed.length + 1))
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** Compiles these files strictly and checks every library. Returns the faults. */
  async compile(names: readonly string[], options: object = {}): Promise<string> {
    const strictly = { strict: true, module: 'nodenext', target: 'es2023', types: ['node'], skipLibCheck: false }
    const compilerOptions = { ...strictly, ...options }
    const project = this.write('tsconfig.json', JSON.stringify({ compilerOptions, files: names }))
    return await compile(project, this.folder)
  }

  /** Runs a program in a folder of its own. Returns its output. */
  async run(program: string, nodeOptions: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const cwd = mkdtempSync(join(this.folder, 'run-'))
    const args = [...nodeOptions, join(this.folder, program)]
    return (await run(process.execPath, args, { cwd, env: environmentOf(env), timeout: 60_000 })).stdout
  }

  /** The packages that a program loads, bundled ones among them; `node:` modules are none. */
  async packagesLoadedBy(name: string, text: string): Promise<{ packages: string[]; printed: string }> {
    this.write(name, text)
    const list = this.write(`${name}.loaded`, '')
    const preload = join(projectRoot, 'test', 'support', 'process', 'loaded-modules.mjs')
    const printed = await this.run(name, ['--import', preload], { LOADED_MODULES: list })
    const names = readFileSync(list, 'utf8').matchAll(/\/node_modules\/(?:\.[^/]+\/)*((?:@[^/\n]+\/)?[^/\n]+)(?=\/)/g)
    return { packages: [...new Set([...names].map(([, found = '']) => found))].sort(), printed }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}
