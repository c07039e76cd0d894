import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Router } from '../endpoint.ts'
import { pageReply, redirectHome, scriptedPagePolicy } from './html-page.ts'
import { builtFile, fileEndpoint, pageEndpoint } from './page-endpoint.ts'

const assets = ['app.js', 'client.js', 'words.js', 'style.css', 'icon.svg'] as const

/** The source is four folders below the root of the package, and the bundle is one folder below it. */
const up = import.meta.url.endsWith('.ts') ? '../../../..' : '..'
const folder = new URL(`${up}/examples/browser/`, import.meta.url)

/** A deployment may lack `examples/browser`. */
export const hasTryPage = existsSync(folder)

interface Needs {
  readonly publicUrl: string
  /** The settings that a real front end has as constants. */
  readonly config: object
}

export function tryRouter({ publicUrl, config }: Needs): Router<unknown> {
  const read = (name: string) => readFile(new URL(name, folder))
  const endpoints = [
    pageEndpoint(
      '/try',
      async (incoming) =>
        redirectHome(publicUrl, '/try', incoming) ?? pageReply(await read('index.html'), scriptedPagePolicy()),
    ),
    pageEndpoint('/try/config.json', () => ({ status: 200, body: config })),
    builtFile('/try/base.css'),
    ...assets.map((name) => fileEndpoint(`/try/${name}`, () => read(name))),
  ]
  const local = endpoints.map((one) => ({ ...one, isLocal: true }))
  return { tag: 'pages', endpoints: hasTryPage ? local : [] }
}

/** The place where the browser returns from the provider: the page, our callback, which redirects to it, or another. */
type ComesBack = 'to this page' | 'by redirect' | 'elsewhere'

/** Tells the place by the pages in the settings of a provider: the one that the provider calls, and the one after our callback. */
export function comingBack(publicUrl: string) {
  const isHere = (page: string | undefined): boolean => {
    if (page === undefined) return false
    const { origin, pathname } = new URL(page)
    return `${origin}${pathname}` === `${publicUrl}/try`
  }
  return (byProvider: string | undefined, byUs: string | undefined): ComesBack => {
    if (byProvider !== undefined) return isHere(byProvider) ? 'to this page' : 'elsewhere'
    return isHere(byUs) ? 'by redirect' : 'elsewhere'
  }
}
