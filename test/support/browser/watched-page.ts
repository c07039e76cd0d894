import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { TestBrowser } from './browser.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A page of the service, with cookies of its own. */
export interface WatchedPage {
  readonly page: Page
  /** Warnings, breaches of the CSP and exceptions, but not the answers that the page shows. */
  readonly complaints: string[]
  /** Waits until the element has this text, and perhaps more. */
  says(selector: string, text: string | RegExp): Promise<void>
  /** The id of the element that has the focus. */
  focused(): Promise<unknown>
  /** Fails if axe-core finds a fault, or if the page is wider than the window. */
  expectAccessible(name: string): Promise<void>
  close(): Promise<void>
}

/** Browsers ignore this header on a page without TLS, unless its host is a loopback name. */
export function needsTls(complaint: string): boolean {
  return complaint.startsWith('The Cross-Origin-Opener-Policy header has been ignored')
}

export async function watchedPage(browser: TestBrowser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    const isAnAnswer = /Failed to load resource: the server responded with a status of 4/.test(message.text())
    const isComplaint = ['error', 'warning'].includes(message.type()) && !isAnAnswer && !needsTls(message.text())
    if (isComplaint) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return {
    page,
    complaints,
    says: (selector, text) => page.locator(selector, { hasText: text }).waitFor(),
    focused: () => page.evaluate('document.activeElement?.id'),
    async expectAccessible(name) {
      await page.evaluate(axe) // by the debugger, which the CSP does not concern
      const found = await page.evaluate(
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))',
      )
      expect(found, name).to.deep.equal([])
      const excess = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
      expect(excess, `${name} is too wide`).to.be.at.most(0)
    },
    close: () => context.close(),
  }
}
