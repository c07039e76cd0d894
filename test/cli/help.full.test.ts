import { spawnSync } from 'node:child_process'
import { cpSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { portcullis } from '../support/process/command-line.ts'
import { projectFile, projectRoot } from '../support/project/readme-blocks.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const groups = ['', 'serve', 'worker', 'tenant', 'superuser', 'config', 'events']
const commands = [
  ...groups,
  'tenant list',
  'superuser demote',
  'config check',
  'events list',
  'user set-email',
  'sessions end',
]

const wordsOf = (command: string): string[] => command.split(' ').filter((word) => word !== '')

describe('the command line', () => {
  it('explains every command with --help', async () => {
    const answers = await Promise.all(commands.map((command) => portcullis([...wordsOf(command), '--help'])))
    for (const [at, { code, out, err }] of answers.entries()) {
      expect([code, err], commands[at]).to.deep.equal([0, ''])
      expect(out).to.match(new RegExp(`^Usage: portcullis ?${commands[at]}`))
      expect(out).to.include('--config <file>').and.to.include('--tenant <name>').and.to.include('--json')
    }
  })

  it('is described in docs/commands.md', async () => {
    const page = projectFile('docs/commands.md')
    const namesIn = (help: string) => [...help.matchAll(/^ {2}([a-z-]+)(?= .* {2})/gm)].map(([, name = '']) => name)
    const groups = namesIn((await portcullis(['--help'])).out.split('Commands:')[1] ?? '').filter(
      (name) => name !== 'help',
    )
    expect(groups).to.include.members(['user', 'sessions', 'secret', 'backup'])
    const missing: string[] = []
    for (const group of groups) {
      const [, own] = (await portcullis([group, '--help'])).out.split('\nCommands:')
      const all =
        own === undefined
          ? [group]
          : namesIn(own)
              .filter((name) => name !== 'help')
              .map((name) => `${group} ${name}`)
      missing.push(...all.filter((command) => !page.includes(`\`${command}`)))
    }
    expect(missing).to.deep.equal([])
  })

  it('refuses wrong arguments with exit code 2, and names them', async () => {
    for (const [command, word] of [
      ['sevre', "'sevre'"],
      ['serve --prot 80', "'--prot'"],
      ['serve now', 'arguments'],
      ['superuser create', "'-e, --email <address>'"],
      ['events list --limit all', '--limit'],
      ['events retry', '--all'],
      ['events retry no-id', 'no id of an event'],
      ['events retry 0198c0de-0000-7000-8000-000000000000 --all', 'not both'],
      ['--config', "'-c, --config <file>'"],
      ['--config missing.json config check', 'missing.json'],
      ['', 'Usage'],
      ['events', 'Usage'],
    ] as const) {
      const { code, out, err } = await portcullis(wordsOf(command))
      expect([code, out], command).to.deep.equal([2, ''])
      expect(err, command).to.include(word)
    }
  })

  it('prints how to build before the first build', async () => {
    // Safe: the project's own manifest.
    const { bin, version } = JSON.parse(projectFile('package.json')) as { bin: { portcullis: string }; version: string }
    const command = join(projectRoot, bin.portcullis)
    expect(statSync(command).mode & 0o100).to.equal(0o100)
    expect(spawnSync(command, ['--version'], { encoding: 'utf8', timeout: 60_000 }).stdout).to.equal(`${version}\n`)

    const unbuilt = scratchFolder()
    cpSync(dirname(command), join(unbuilt, 'bin'), { recursive: true })
    writeFileSync(join(unbuilt, 'package.json'), '{"type":"module"}')
    const { status, stderr } = spawnSync(join(unbuilt, bin.portcullis), ['serve'], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect(stderr).to.match(/^portcullis: not built yet; npm start does that/)
    expect(status).to.equal(1)
  })
})
