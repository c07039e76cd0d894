import { execFile, spawnSync } from 'node:child_process'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../eventually.ts'
import { environmentOf, startCommand } from '../process/commands.ts'
import { skipIfMissing } from '../servers/obstacles.ts'
import { freePort } from '../servers/ports.ts'
import { scratchFolder } from '../services/spawned-service.ts'
import { installed, needsPython, pythonWith } from './python.ts'
import { blocksOf, projectFile, projectRoot, theBlock } from './readme-blocks.ts'

const run = promisify(execFile)

/** The examples that learn from us who calls them. */
export type NotesExample = 'express' | 'fastapi' | 'go'

export interface NotesApp {
  readonly url: string
  stop(): Promise<void>
}

/** Go keeps what it has compiled in `.cache`. */
const goFolders = {
  GOMODCACHE: join(projectRoot, '.cache', 'go', 'modules'),
  GOCACHE: join(projectRoot, '.cache', 'go', 'build'),
  GOFLAGS: '-modcacherw -buildvcs=false',
  CGO_ENABLED: '0',
}

/** Skips the suite without Python or Go. Installs what the examples import, and compiles the one in Go. */
export async function prepareNotesApps(suite: Mocha.Context): Promise<void> {
  needsPython(suite)
  const isMissing = spawnSync('go', ['version']).error !== undefined
  skipIfMissing(suite, isMissing ? 'there is no go on the PATH (apt-get install golang-go)' : null)
  await pythonOfExample()
  await expressExample()
  await run('go', ['build', '-o', join(scratchFolder(), 'notes')], {
    cwd: join(projectRoot, 'examples', 'go'),
    env: environmentOf({ ...goFolders, HOME: scratchFolder() }),
  })
}

const pythonOfExample = () => {
  const packages = projectFile('examples/fastapi/requirements.txt').trimEnd().split('\n')
  return pythonWith('examples-fastapi', ['install', '-q', ...packages])
}

/** A copy of the example with its packages, which would shadow others in the packages of the project. */
async function expressExample(): Promise<string> {
  const source = join(projectRoot, 'examples', 'express')
  const folder = await installed('examples-express', projectFile('examples/express/package.json'), async (folder) => {
    await cp(join(source, 'package.json'), join(folder, 'package.json'))
    await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund'], { cwd: folder })
  })
  for (const name of ['accounts.js', 'app.js']) await cp(join(source, name), join(folder, name))
  return folder
}

/** Snippets that call the guard of an example with each slip, and print a line for each one that it accepts. */
const slips: Readonly<Record<NotesExample, string>> = {
  express: `import { currentUser } from './accounts.js'
    const slips = [{ level: '2' }, { level: 3 }, { level: 0 }, { level: true }, { level: null }, { Level: 2 }, { superUser: true }, 2]
    for (const slip of slips) {
      try { currentUser(slip) } catch { continue }
      console.log(slip)
    }
    currentUser(), currentUser({ level: 1 }), currentUser({ level: 2, verified: true, superuser: true, optional: true })`,
  fastapi: `from accounts import current_user
for level in ["2", 3, 0, True, None]:
    try: current_user(level=level)
    except ValueError: continue
    print(level)
try: print(current_user(2))
except TypeError: pass
current_user(), current_user(level=1), current_user(active=True, level=2)`,
  go: `package main
import "net/http"
func answer(http.ResponseWriter, int, any) {}
func try(level int) {
	defer func() { recover() }()
	Require(Need{Level: level}, nil)
	println("accepted", level)
}
func main() {
	try(3)
	try(-1)
	Require(Need{}, nil)
	Require(Need{Level: 1}, nil)
	Require(Need{Level: 2}, nil)
}`,
}

/** The slips that the guard of an example accepts, one a line. */
export async function acceptedSlips(example: NotesExample): Promise<string> {
  const env = environmentOf({ ...goFolders, PYTHONDONTWRITEBYTECODE: '1', HOME: scratchFolder() })
  const start = async (cwd: string, command: string, ...args: readonly string[]) => {
    const { stdout, stderr } = await run(command, args, { cwd, env })
    return stdout + stderr
  }
  const source = join(projectRoot, 'examples', example)
  if (example === 'express')
    return start(await expressExample(), process.execPath, '--input-type=module', '-e', slips.express)
  if (example === 'fastapi') return start(source, await pythonOfExample(), '-c', slips.fastapi)
  const folder = scratchFolder()
  for (const name of ['accounts.go', 'keys.go', 'go.mod', 'go.sum']) await cp(join(source, name), join(folder, name))
  await writeFile(join(folder, 'main.go'), slips.go)
  return start(folder, 'go', 'run', '.')
}

/** Starts an example as its README does, with other addresses. `issuer: null` leaves the variable out. */
export async function startNotesApp(
  example: NotesExample,
  { accounts, issuer }: { accounts: string; issuer: string | null },
): Promise<NotesApp> {
  const port = await freePort()
  const env = environmentOf({ ...goFolders, PYTHONDONTWRITEBYTECODE: '1', HOME: scratchFolder() })
  const typed = theBlock(blocksOf(projectFile(`examples/${example}/README.md`)), 'bash', 'start')
    .replace(/^cd .*\n/m, '')
    .replace('ACCOUNTS_URL=http://localhost:3000', `ACCOUNTS_URL=${accounts}`)
    .replace('ACCOUNTS_ISSUER=http://localhost:3000', issuer === null ? '' : `ACCOUNTS_ISSUER=${issuer}`)
    .replaceAll('8000', `${port}`)
    .replace('.venv/bin/uvicorn', `${await pythonOfExample()} -m uvicorn`)
  const folder = example === 'express' ? await expressExample() : join(projectRoot, 'examples', example)
  const command = startCommand(['bash', '-c', typed], folder, env)
  const url = `http://localhost:${port}`
  const ended = command.ended.then((how) => {
    throw new Error(`examples/${example} ended (${how}):\n${command.output.error}`)
  })
  const listens = () => fetch(url).then(Boolean, () => false)
  await Promise.race([eventually(`examples/${example}`, listens), ended])
  return {
    url,
    async stop() {
      command.killGroup('SIGKILL')
      await ended.catch(() => undefined)
    },
  }
}
