import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { BrowserContext } from 'playwright-core'
import { launchBrowser, needsBrowser, type TestBrowser } from '../support/browser/browser.ts'
import { eventually } from '../support/eventually.ts'
import { goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { FrontEnd } from '../support/project/front-end.ts'
import { blocksOf, projectFile, theBlock } from '../support/project/readme-blocks.ts'
import { resetToken } from '../support/scenes/one-time-tokens.ts'
import { freePort } from '../support/servers/ports.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const blocks = blocksOf(projectFile('docs/front-end.md'))
const block = (language: string, mark: string): string => theBlock(blocks, language, mark)
const readme = blocksOf(projectFile('README.md'))
const fetching = block('js', 'fetch')

const html = (script: string): string =>
  `<!doctype html><title>A page</title><script type="module" src="${script}"></script>`

/** A misspelled code, and a body without its password. */
const wrong = `import createClient from 'openapi-fetch'
import type { paths } from './portcullis'
const accounts = createClient<paths>()
const { error } = await accounts.POST('/auth/register', { body: { email: 'ada@example.com', password: 'x' } })
if (error?.detail === 'REGISTER_USER_EXISTS') console.log('known')
await accounts.POST('/auth/register', { body: { email: 'ada@example.com' } })
`

const typedUse = `import { me, signIn, signUp } from './typed'
console.log(await signUp('grace@example.com', 'short'))
console.log(await signUp('grace@example.com', 'copper-violin-drift'))
console.log(await signUp('grace@example.com', 'copper-violin-drift'))
console.log(await me())
console.log(await signIn('grace@example.com', 'copper-violin-drift'))
console.log(await me())
`

const resetUse = `import { me, reset, signIn, signOut } from './accounts.js'
await reset('copper-violin-drift')
await signIn('dora@example.com', 'copper-violin-drift')
const { email } = await me()
await signOut()
console.log(email)
`

/** Prints the callers with these headers, and the user that the API still knows while the accounts are down. */
const pythonUse = `import json, sys
import accounts
asked = json.loads(sys.argv[1])
users = [accounts.caller_of(headers) for headers in asked]
accounts.ACCOUNTS = "http://127.0.0.1:9"
kept = accounts.caller_of(asked[0])["email"]
try:
    others = accounts.caller_of({"Authorization": "Bearer another"})
except accounts.AccountsUnavailable as error:
    others = error.retry_after
print(json.dumps({"users": [user and user["email"] for user in users], "kept": kept, "others": others}))
`

async function hasPython(): Promise<boolean> {
  return promisify(execFile)('python3', ['--version']).then(
    () => true,
    () => false,
  )
}

describe('docs/front-end.md', () => {
  let service: TestService
  let browser: TestBrowser
  let context: BrowserContext
  let stopVite: () => Promise<unknown>
  let site: string
  const frontEnd = new FrontEnd()

  before(async function () {
    needsBrowser(this)
    const port = await freePort(5173)
    site = `http://localhost:${port}`
    const [, variable = '', value = ''] = /^(PORTCULLIS_\w+)=(\S+) npm start$/m.exec(block('bash', 'start')) ?? []
    service = await startTestService({
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      [variable]: value.replace('localhost:5173', `localhost:${port}`),
      ...Object.fromEntries([...block('bash', 'links').matchAll(/^export (\w+)=(\S+)/gm)].map(([, ...pair]) => pair)),
    })
    const here = (text: string): string => text.replaceAll(/(localhost|127\.0\.0\.1):3000/g, new URL(service.url).host)

    frontEnd.write('vite.config.js', here(block('js', 'vite')))
    frontEnd.write('src/accounts.js', here(fetching + block('js', 'links')))
    frontEnd.write('src/use.js', block('js', 'use'))
    frontEnd.write('proxied/accounts.js', fetching.replace("'http://localhost:3000'", "''"))
    frontEnd.write('proxied/use.js', block('js', 'use').replaceAll('ada@', 'bea@'))
    frontEnd.write('src/reset-use.js', resetUse)
    frontEnd.write('src/typed.ts', here(block('ts', 'typed')))
    frontEnd.write('src/typed-use.ts', typedUse)
    const atSite = (text: string): string => here(text).replace('localhost:5173', `localhost:${port}`)
    frontEnd.write('src/who.js', here(theBlock(readme, 'js', 'who')))
    frontEnd.write('index.html', html('/src/who.js') + atSite(theBlock(readme, 'html', 'link')))
    frontEnd.write('fetch.html', html('/src/use.js'))
    frontEnd.write('reset.html', html('/src/reset-use.js'))
    frontEnd.write('proxied.html', html('/proxied/use.js'))
    frontEnd.write('typed.html', html('/src/typed-use.ts'))
    frontEnd.write('tsconfig.json', projectFile('examples/front-end/tsconfig.json'))
    await frontEnd.makeTypes(here(block('bash', 'client')))

    stopVite = await frontEnd.serve(port, 'dev')
    browser = await launchBrowser()
    context = await browser.newContext()
  })
  after(async () => {
    await browser?.close()
    await stopVite?.()
    await service?.stop()
  })

  /** Opens a page, and resolves to its first lines on the console. */
  async function linesOf(url: string, count: number): Promise<string[]> {
    const page = await context.newPage()
    const lines: string[] = []
    page.on('console', (message) => message.type() === 'log' && lines.push(message.text()))
    page.on('pageerror', (error) => lines.push(...Array(count).fill(String(error))))
    await page.goto(url)
    await eventually(`${count} lines`, () => lines.length >= count)
    await page.close()
    return lines
  }

  it('follows the README, which shows a link to the pages and the question who is signed in', async () => {
    const { email } = await register(service.url, 'erin@example.com')
    const page = await (await browser.newContext()).newPage()
    const nobody = page.waitForEvent('console', (message) => message.text() === 'nobody is signed in')
    await page.goto(site)
    await nobody
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.fill('[name=username]', email)
    await page.fill('[name=password]', goodPassword)
    const somebody = page.waitForEvent('console', (message) => message.text() === email)
    await page.keyboard.press('Enter')
    await somebody
    await page.context().close()
  })

  it('shows how a page of another origin signs up, in and out', async () => {
    const printed = block('text', 'use')
    expect(await linesOf(`${site}/fetch.html`, 3)).to.deep.equal(printed.trimEnd().split('\n'))
  })

  it('shows how a page resets a password by the link in a message', async () => {
    const { email } = await register(service.url, 'dora@example.com')
    const link = `${site}/reset.html#token=${await resetToken(service, email)}`
    expect(await linesOf(link, 1)).to.deep.equal([email])
  })

  it('shows a proxy of Vite through which a page needs no other origin', async () => {
    const printed = block('text', 'use').replaceAll('ada@', 'bea@')
    expect(await linesOf(`${site}/proxied.html`, 3)).to.deep.equal(printed.trimEnd().split('\n'))
  })

  it('shows how an API learns who calls it, by a cookie or a token', async () => {
    frontEnd.write('api.mjs', block('js', 'api').replace('http://localhost:3000', service.url))
    const { callerOf } = await import(pathToFileURL(join(frontEnd.folder, 'api.mjs')).href)
    const { email } = await register(service.url, 'cleo@example.com')
    expect(await callerOf({ authorization: `Bearer ${await logIn(service.url, email)}` })).to.include({ email })
    expect(await callerOf({ cookie: await logInByCookie(service.url, email) })).to.include({ email })
    expect(await callerOf({})).to.equal(null)
  })

  it('shows how an API in Python learns it, keeps the answer for a while, and knows when it does not know', async function () {
    if (!(await hasPython())) this.skip()
    frontEnd.write('accounts.py', block('python', 'accounts').replace('http://localhost:3000', service.url))
    frontEnd.write('use.py', pythonUse)
    const { email } = await register(service.url, 'dan@example.com')
    const [bearer, cookie] = [await logIn(service.url, email), await logInByCookie(service.url, email)]
    const run = promisify(execFile)
    const asked = JSON.stringify([{ Authorization: `Bearer ${bearer}` }, { Cookie: cookie }, {}, { Cookie: 'other=1' }])
    const { stdout } = await run('python3', ['use.py', asked], { cwd: frontEnd.folder })
    expect(JSON.parse(stdout)).to.deep.equal({ users: [email, email, null, null], kept: email, others: '1' })
  })

  it('shows a typed client that works', async () => {
    expect(await linesOf(`${site}/typed.html`, 6)).to.deep.equal([
      'Password should be at least 8 characters',
      'null',
      'This address has an account.',
      'null',
      'true',
      'grace@example.com',
    ])
  })

  it('shows a typed client that compiles, but not with a misspelled code', async () => {
    frontEnd.write('src/wrong.ts', wrong)
    const faults = [...(await frontEnd.compile()).matchAll(/^(.*)\((\d+),\d+\): error (TS\d+)/gm)]
    expect(faults.map(([, file, line, code]) => `${file}:${line} ${code}`)).to.deep.equal([
      'src/wrong.ts:5 TS2367',
      'src/wrong.ts:6 TS2322',
    ])
  })
})
