import { spawnSync } from 'node:child_process'
import { cpSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { portcullis } from '../support/command-line.ts'
import { projectFile, projectRoot } from '../support/readme-blocks.ts'
import { scratchFolder } from '../support/spawned-service.ts'

const commands = [
  [],
  ['serve'],
  ['worker'],
  ['tenant'],
  ['tenant', 'list'],
  ['tenant', 'check'],
  ['superuser'],
  ['superuser', 'create'],
  ['config'],
  ['config', 'check'],
  ['events'],
  ['events', 'list'],
  ['events', 'retry'],
]

describe('the command line', () => {
  it('explains every command with --help', async () => {
    const answers = await Promise.all(commands.map((command) => portcullis([...command, '--help'])))
    for (const [at, { code, out, err }] of answers.entries()) {
      expect([code, err], commands[at]?.join(' ')).to.deep.equal([0, ''])
      expect(out)
        .to.match(/^Usage: portcullis/)
        .and.to.include(['portcullis', ...(commands[at] ?? [])].join(' '))
      expect(out).to.include('--config <file>').and.to.include('--tenant <name>')
    }
  })

  it('explains itself to `help` as to --help', async () => {
    const [help, command, dashed, group] = await Promise.all(
      [['help'], ['help', 'serve'], ['--help'], ['serve', '--help']].map((args) => portcullis(args)),
    )
    expect(help).to.deep.equal(dashed)
    expect(command).to.deep.equal(group)
  })

  it('refuses what it does not know with exit code 2, says what and how, and prints nothing', async () => {
    for (const [args, word] of [
      [['sevre'], "'sevre'"],
      [['serve', '--prot', '80'], "'--prot'"],
      [['serve', 'now'], 'arguments'],
      [['superuser', 'make'], "'make'"],
      [['superuser', 'create'], "'-e, --email <address>'"],
      [['events', 'list', '--limit', 'all'], '--limit'],
      [['events', 'retry'], '--all'],
      [['events', 'retry', 'no-id'], 'no id of an event'],
      [['events', 'retry', '0198c0de-0000-7000-8000-000000000000', '--all'], 'not both'],
      [['--config'], "'-c, --config <file>'"],
      [['--config', 'missing.json', 'config', 'check'], 'missing.json'],
      [[], 'Usage'],
      [['events'], 'Usage'],
    ] as const) {
      const { code, out, err } = await portcullis(args)
      expect([code, out], args.join(' ')).to.deep.equal([2, ''])
      expect(err, args.join(' ')).to.include(word)
    }
  })

  it('knows its version', async () => {
    const { code, out } = await portcullis(['--version'])
    expect(code).to.equal(0)
    expect(out).to.match(/^\d+\.\d+\.\d+\n$/)
  })

  it('is there before anything is built, since npx never looks again, and says how that is done', async () => {
    // Safe: the project's own manifest.
    const { bin, version } = JSON.parse(projectFile('package.json')) as { bin: { portcullis: string }; version: string }
    const command = join(projectRoot, bin.portcullis)
    expect(statSync(command).mode & 0o111).to.equal(0o111)
    expect(spawnSync(command, ['--version'], { encoding: 'utf8' }).stdout).to.equal(`${version}\n`)

    const unbuilt = scratchFolder()
    cpSync(dirname(command), join(unbuilt, 'bin'), { recursive: true })
    writeFileSync(join(unbuilt, 'package.json'), '{"type":"module"}')
    const { status, stderr } = spawnSync(join(unbuilt, bin.portcullis), ['serve'], { encoding: 'utf8' })
    expect(stderr).to.match(/^portcullis: not built yet; npm start does that/)
    expect(status).to.equal(1)
  })
})
