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

/** An operation that answers with a file of the build. The last part of the path is the name of the file. */
export function builtFile(path: PagePath): Endpoint<unknown> {
  return fileEndpoint(path, () => readFile(new URL(basename(path), built)))
}
