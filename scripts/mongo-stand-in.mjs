import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const source = fileURLToPath(new URL('../test/support/servers/mongo-java-server/', import.meta.url))
const output = fileURLToPath(new URL('../.cache/mongo-java-server/', import.meta.url))

/**
 * Builds the wire-compatible stand-in for MongoDB, once for each version of its sources. It needs Java 17, Maven and a
 * Maven repository. Builds may run at the same time.
 *
 * @returns {Promise<string[]>} the arguments for `java`, before those of the stand-in
 */
export async function buildMongoStandIn() {
  const version = createHash('sha256')
  for (const file of ['pom.xml', 'StandIn.java']) version.update(await readFile(join(source, file)))
  const folder = join(output, version.digest('hex').slice(0, 16))
  if (!existsSync(folder)) {
    const draft = `${folder}.${process.pid}`
    const libraries = join(draft, 'lib')
    await mkdir(libraries, { recursive: true })
    const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${libraries}`]
    await run('mvn', ['-q', '-B', '-f', join(source, 'pom.xml'), ...copy])
    await run('javac', ['-cp', join(libraries, '*'), '-d', join(draft, 'classes'), join(source, 'StandIn.java')])
    await rename(draft, folder).catch(async (error) => {
      if (!existsSync(folder)) throw error
      await rm(draft, { recursive: true })
    })
  }
  // A small heap and the fast compiler, because it runs for minutes.
  return [
    '-Xmx512m',
    '-XX:TieredStopAtLevel=1',
    '-cp',
    [join(folder, 'classes'), join(folder, 'lib', '*')].join(delimiter),
    'StandIn',
  ]
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const started = Date.now()
  const standIn = await buildMongoStandIn()
  process.stdout.write(`stand-in for MongoDB: ready after ${Date.now() - started} ms\n`)
  const [port] = process.argv.slice(2)
  if (port !== undefined) spawn('java', [...standIn, port], { stdio: 'inherit' }) // until its standard input ends
}
