import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { type Endpoint, endpoint, type Incoming } from '../endpoint.ts'
import type { Page, Reply } from '../reply.ts'
import type { PagePath } from '../routes.ts'

/** An operation that answers with a page or one of its files. */
export function pageEndpoint(
  path: PagePath,
  handle: (incoming: Incoming<null, null, null>) => Promise<Reply> | Reply,
): Endpoint<unknown> {
  return endpoint(['GET', path, 'public'], {
    operationId: `page:${path}`,
    summary: '', // only the OpenAPI document shows summaries, and it has no pages
    answersHead: true,
    handle: async (incoming) => handle(incoming),
  })
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
}

/** An operation that answers with a file. The ending of the path decides the content type. */
export function fileEndpoint(
  path: PagePath,
  read: () => Page['content'] | Promise<Page['content']>,
): Endpoint<unknown> {
  const type = types[extname(path)] ?? 'application/octet-stream'
  return pageEndpoint(path, async () => ({ status: 200, page: { type, content: await read() } }))
}

/** The build writes the scripts and style sheets there. */
const built = new URL(import.meta.url.endsWith('.ts') ? '../../../../dist/pages/' : './pages/', import.meta.url)

interface Versioned {
  readonly content: Buffer
  /** Of the content. */
  readonly version: string
}

/** The files as they were at the start, so that a later build does not change those of a running process. */
const versioned = new Map<string, Versioned>()

function versionedOf(name: string): Versioned {
  const known = versioned.get(name)
  if (known !== undefined) return known
  const content = readFileSync(new URL(name, built))
  const version = createHash('sha256').update(content).digest('base64url').slice(0, 12)
  versioned.set(name, { content, version })
  return { content, version }
}

const withVersion = (path: string, version: string): string => path.replace(/\.\w+$/, `.${version}$&`)

/** The path of a file of the build, with the version of its content, which browsers keep. */
export function versionedPath(path: string): string {
  return withVersion(path, versionedOf(basename(path)).version)
}

/**
 * As `builtFile`, below its version. During an upgrade, a page of another process may ask for another version: the answer is
 * the own one, which nobody keeps.
 */
export function versionedFile(path: PagePath): Endpoint<unknown> {
  const name = basename(path)
  // Tests of a router may start a service without a build.
  if (existsSync(new URL(name, built))) versionedOf(name)
  const type = types[extname(path)] ?? 'application/octet-stream'
  // Safe: it is the path of a page with a version.
  return pageEndpoint(withVersion(path, ':version') as PagePath, ({ params }) => {
    const { content, version } = versionedOf(name)
    const isCurrent = params.version === version
    const headers = isCurrent ? { 'Cache-Control': 'public, max-age=31536000, immutable' } : {}
    return { status: 200, page: { type, content }, headers }
  })
}

/** An operation that answers with a file of the build. The last part of the path is the name of the file. */
export function builtFile(path: PagePath): Endpoint<unknown> {
  return fileEndpoint(path, () => readFile(new URL(basename(path), built)))
}
