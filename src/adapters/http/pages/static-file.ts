import { readFile } from 'node:fs/promises'
import { type Endpoint, endpoint } from '../endpoint.ts'
import type { Page } from '../reply.ts'

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  svg: 'image/svg+xml',
}

interface StaticFile {
  readonly path: string
  /** A file name; its ending decides the content type. */
  readonly name: string
  read(): Page['content'] | Promise<Page['content']>
  readonly policy?: string
}

/** An operation that answers a file. It is not part of the OpenAPI document. */
export function staticFile({ path, name, read, policy }: StaticFile): Endpoint {
  return endpoint({
    method: 'GET',
    path,
    operationId: `page:${path}`,
    summary: name,
    access: 'public',
    async handle() {
      const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
      return {
        status: 200,
        page: { type, content: await read() },
        ...(policy !== undefined && { headers: { 'Content-Security-Policy': policy } }),
      }
    },
  })
}

/** The build writes the scripts and style sheets there. */
const built = new URL(import.meta.url.endsWith('.ts') ? '../../../../dist/pages/' : './pages/', import.meta.url)

/** An operation that answers a file of the build. */
export function builtFile(path: string, name: string): Endpoint {
  return staticFile({ path, name, read: () => readFile(new URL(name, built)) })
}
