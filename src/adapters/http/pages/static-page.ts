import { type Endpoint, endpoint } from '../endpoint.ts'
import type { Page } from '../reply.ts'

/** The type that browsers are told for each kind of file. */
const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
}

interface StaticFile {
  readonly path: string
  /** Names the content, whose ending tells the type: `index.html`. */
  readonly name: string
  read(): Page['content'] | Promise<Page['content']>
  /** The Content-Security-Policy of a page. */
  readonly policy?: string
}

/** An operation that answers a file. The API's description leaves it out. */
export function staticFile({ path, name, read, policy }: StaticFile): Endpoint {
  return endpoint({
    method: 'GET',
    path,
    operationId: `page:${path}`,
    summary: name,
    access: 'public',
    replies: {},
    refusals: [],
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
