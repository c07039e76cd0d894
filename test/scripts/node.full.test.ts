import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { projectFile, projectRoot } from '../support/project/readme-blocks.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const program = 'console.log(process.argv[2], process.env.PATH.split(":")[0]); process.exit(7)'

/** A clone on a machine whose Node says that it is of this version, and whose npm answers a package of Node. */
function machineWith(version: string, { integrity = ownIntegrity(), npmFails = false } = {}) {
  const folder = scratchFolder()
  for (const name of ['node', 'newer-node.mjs', 'fetch-node.mjs', 'node-versions.json']) {
    cpSync(join(projectRoot, 'scripts', name), join(folder, 'scripts', name))
  }
  cpSync(join(projectRoot, 'bin'), join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'program.mjs'), program)
  mkdirSync(join(folder, 'dist'))
  writeFileSync(join(folder, 'dist', 'portcullis.js'), program)

  const bin = join(folder, 'machine')
  mkdirSync(bin)
  const preload = join(bin, 'version.mjs')
  const versions = `{ ...process.versions, node: '${version}' }`
  writeFileSync(preload, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
  executable(join(bin, 'node'), `exec '${process.execPath}' --import '${preload}' "$@"`)
  const lock = JSON.stringify({ packages: { [`node_modules/${ownPackage}`]: { integrity } } })
  executable(
    join(bin, 'npm'),
    `${npmFails ? 'exit 1' : ''}
     echo "$*" >> '${join(folder, 'npm.log')}'
     mkdir -p node_modules/${ownPackage}/bin
     printf '%s' '${lock}' > node_modules/.package-lock.json
     printf '#!/bin/sh\\nexec "${process.execPath}" "$@"' > node_modules/${ownPackage}/bin/node
     chmod +x node_modules/${ownPackage}/bin/node`,
  )
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
  return {
    folder,
    bin,
    run: (...words: string[]) =>
      spawnSync(words[0] ?? '', words.slice(1), {
        cwd: folder,
        env: { ...env, NODE_OPTIONS: '' },
        encoding: 'utf8',
        timeout: 60_000,
      }),
  }
}

function executable(file: string, script: string): void {
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
}

// Safe: the project's own file.
const { 22: known } = JSON.parse(projectFile('scripts/node-versions.json')) as {
  22: { version: string; packages: Readonly<Record<string, string>> }
}
const ownPackage =
  [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`].find(
    (name) => name in known.packages,
  ) ?? ''

function ownIntegrity(): string {
  return known.packages[ownPackage] ?? ''
}

describe('scripts/node', () => {
  it('uses the Node of the machine if it is new enough, and prints nothing', () => {
    const { folder, bin, run } = machineWith('22.0.0')
    const { status, stdout, stderr } = run('scripts/node', 'program.mjs', 'word')
    expect([status, stdout, stderr]).to.deep.equal([7, `word ${bin}\n`, ''])
    expect(existsSync(join(folder, '.cache'))).to.equal(false)
  })

  it('fetches a newer Node once, prints one line, and passes arguments, PATH and exit code on', () => {
    const { folder, run } = machineWith('20.20.2')
    const bin = join(folder, '.cache', `${ownPackage}-${known.version}`, 'node_modules', ownPackage, 'bin')
    const first = run('scripts/node', 'program.mjs', 'word')
    expect([first.status, first.stdout]).to.deep.equal([7, `word ${bin}\n`])
    expect(first.stderr).to.match(/^Fetching Node 22\.\S+ \(once\) …\nNode 20\.20\.2 is too old: using Node 22\./)
    const second = run('scripts/node', 'program.mjs', 'word')
    expect([second.status, second.stdout]).to.deep.equal([7, `word ${bin}\n`])
    expect(second.stderr).to.match(/^Node 20\.20\.2 is too old: using Node 22\.\S+ of \.cache instead\.\n$/)
  })

  it('refuses a package with a wrong checksum', () => {
    const { folder, run } = machineWith('20.20.2', { integrity: 'sha512-other' })
    const { status, stdout, stderr } = run('scripts/node', 'program.mjs')
    expect([status, stdout]).to.deep.equal([1, ''])
    expect(stderr).to.match(
      /Portcullis needs Node 22 or later; this is 20\.20\.2\. .* does not match its checksum\.\n$/,
    )
    expect(readdirSync(join(folder, '.cache'))).to.deep.equal([])
  })

  it('names the version that it needs when the registry cannot be reached', () => {
    const { folder, run } = machineWith('20.20.2', { npmFails: true })
    const { status, stderr } = run('scripts/node', 'program.mjs')
    expect(status).to.equal(1)
    expect(stderr).to.match(/Portcullis needs Node 22 or later; this is 20\.20\.2\. npm could not fetch/)
    expect(readdirSync(join(folder, '.cache'))).to.deep.equal([])
  })
})

describe('the executable under an older Node', () => {
  it('starts itself again with the newer Node in a clone', () => {
    const { status, stdout, stderr } = machineWith('20.20.2').run('bin/portcullis.js', 'word')
    expect(stdout).to.match(/^word .*\.cache/)
    expect(stderr).to.include('Node 20.20.2 is too old: using Node 22')
    expect(status).to.equal(7)
  })

  it('names the version that it needs in an installed package', () => {
    const { folder, run } = machineWith('20.20.2')
    const installed = join(folder, 'installed')
    for (const name of ['bin', 'dist', 'package.json'])
      cpSync(join(folder, name), join(installed, name), { recursive: true })
    const { status, stdout, stderr } = run(join(installed, 'bin', 'portcullis.js'), 'word')
    expect([status, stdout]).to.deep.equal([1, ''])
    expect(stderr).to.equal('portcullis: Node 22 or later is needed; this is 20.20.2\n')
  })
})
