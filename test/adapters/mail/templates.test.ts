import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { messageNames } from '../../../src/adapters/mail/message-fields.ts'
import { loadTemplates, TemplateFault, type Templates } from '../../../src/adapters/mail/templates.ts'
import { faultOf } from '../../support/fault-of.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'

const link = 'https://example.com/account/verify#token=abc'

const fields = {
  service: 'Acme & Sons',
  email: 'ada@example.com',
  support: 'help@example.com',
  link,
  hours: 24,
  minutes: null,
  provider: 'Google',
  account: 'ada@gmail.example',
  added: true,
}

/** The characters that HTML escapes, as a reader sees them. */
const unescaped = (html: string): string =>
  html.replaceAll('&amp;', '&').replaceAll('&#x2F;', '/').replaceAll('&#x3D;', '=').replaceAll('&#39;', "'")

describe('the templates of messages', () => {
  let templates: Templates
  before(async () => {
    templates = await loadTemplates(null)
  })

  it('are there in English and German', () => {
    expect([...templates.languages].sort()).to.deep.equal(['de', 'en'])
  })

  for (const language of ['en', 'de']) {
    for (const name of messageNames) {
      it(`give ${name} in ${language} as text and as HTML without pictures or other hosts`, () => {
        const { subject, text, html } = templates.render(name, [language], 'en', fields)
        const isOfAccount = name === 'accountLinked' || name === 'accountUnlinked'
        const needed = [fields.email, ...(isOfAccount ? ['Google', fields.account] : [])]
        const hasLife = name === 'verify' || name === 'reset'
        const isLinked = hasLife || name === 'secondFactorReset' || name === 'invitation'
        for (const one of [...needed, ...(isLinked ? [link] : []), ...(hasLife ? ['24'] : [])]) {
          expect(text).to.contain(one)
          expect(unescaped(html)).to.contain(one)
        }
        expect(subject).to.match(/^\S[^\n]{5,75}\S$/)
        const heading = subject.slice(0, -' – Acme & Sons'.length)
        expect(subject).to.equal(`${heading} – Acme & Sons`)
        expect(html).to.contain(`<html lang="${language}">`).and.contain('Acme &amp; Sons')
        expect(html).to.contain(`<h1>${heading}</h1>`)
        expect(`${subject}${text}${html}`).to.not.match(/\{\{|\}\}|undefined|null/)
        expect(html).to.not.match(/<img|<script|url\(|@import/i)
        const hosts = [...unescaped(html).matchAll(/(?:https?:)?\/\/([^/"<\s]+)/g)].map(([, host]) => host)
        expect(new Set(hosts)).to.deep.equal(new Set(isLinked ? ['example.com'] : []))
      })
    }
  }

  it('say whether a password was changed or removed', () => {
    for (const [removed, words] of [
      [false, ['Your password was changed', 'If you did not: go to the sign-in page']],
      [true, ['Your password was removed', 'If you did not set it, there is nothing more to do.']],
    ] as const) {
      const { subject, text } = templates.render('passwordChanged', [], 'en', { ...fields, removed })
      expect(`${subject}\n${text}`).to.include(words[0]).and.include(words[1])
      expect(text.split('\n\n')).to.have.length(3)
    }
  })

  it('follow the first wanted language that is there, otherwise the other one', () => {
    const subjectIn = (wanted: string[], otherwise: string) =>
      templates.render('reset', wanted, otherwise, fields).subject.replace(' – Acme & Sons', '')
    const [english, german] = ['Choose a new password', 'Wählen Sie ein neues Passwort']
    expect(subjectIn(['fr', 'de-CH', 'en'], 'en')).to.equal(german)
    expect(subjectIn(['fr'], 'de')).to.equal(german)
    expect(subjectIn([], 'en')).to.equal(english)
  })

  it('escape their fields in HTML, and keep line breaks out of the subject', async () => {
    const folder = await folderOf({ 'en/reset.txt': 'Subject: A password for {{email}}\n\n{{link}}\n' })
    const own = await loadTemplates(folder)
    const evil = { ...fields, email: '<img src=x onerror=alert(1)>\r\nBcc: victim@example.org', service: '"><b>' }
    const { subject, html, text } = own.render('reset', ['en'], 'en', evil)
    expect(subject).to.equal('A password for <img src=x onerror=alert(1)> Bcc: victim@example.org')
    expect(html).to.not.contain('<img').and.not.contain('"><b>')
    expect(text).to.equal(`${link}\n`)
  })

  it('insert fields as they are, and do not read them as templates', () => {
    const evil = { ...fields, email: '{{link}}@example.com', service: '{{{content}}} {{/hours}}' }
    const { text, html } = templates.render('verify', [], 'en', evil)
    expect(text).to.contain('that {{link}}@example.com is').and.contain(evil.service)
    expect(html)
      .to.contain('<b>{{link}}@example.com</b>')
      .and.contain('<p class="service">{{{content}}} {{&#x2F;hours}}')
  })

  it('of the deployer replace ours and add languages', async () => {
    const french = messageNames.map((name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))
    const files = french.flatMap((name) => [
      [`fr/${name}.txt`, `Subject: Bonjour\n\n${name}`],
      [`fr/${name}.html`, `<p>${name}</p>`],
    ])
    const own = await loadTemplates(
      await folderOf({ ...Object.fromEntries(files), 'layout.html': '<main>{{{content}}}</main>', 'de/.hidden': '' }),
    )
    expect([...own.languages].sort()).to.deep.equal(['de', 'en', 'fr'])
    expect(own.render('passwordChanged', ['fr'], 'en', fields)).to.deep.equal({
      subject: 'Bonjour',
      text: 'password-changed',
      html: '<main><p>password-changed</p></main>',
    })
    expect(own.render('passwordChanged', ['de'], 'en', fields).html).to.match(/^<main><p>Das Passwort/)
  })

  for (const [files, fault] of [
    [
      { 'en/verify.html': '<p>\n{{linc}}</p>' },
      'en/verify.html:2: {{linc}} is no field of this message; its fields are service, email, support, link, hours, minutes',
    ],
    [
      { 'en/verify.txt': 'Subject: x\n\n{{#link}}\n{{provider}}{{/link}}' },
      'en/verify.txt:4: {{provider}} is no field of this message',
    ],
    [{ 'de/reset.html': '<p>{{email}}\n\n{{link}\n\n</p>' }, 'de/reset.html:3: Unclosed tag'],
    [{ 'de/reset.html': 'a\n{{#link}}b' }, 'de/reset.html:2: Unclosed section "link"'],
    [{ 'de/reset.html': 'a\n{{/link}}b' }, 'de/reset.html:2: Unopened section "link"'],
    [{ 'de/reset.html': '{{{link}}}' }, 'de/reset.html:1: {{{link}}} would not escape HTML; write {{link}}'],
    [{ 'de/reset.html': '{{> other}}' }, 'de/reset.html:1: {{>other}}: a template cannot include another one'],
    [{ 'de/reset.txt': 'Hello' }, 'de/reset.txt:1: the first line must be "Subject: …"'],
    [{ 'de/rest.txt': 'Hello' }, 'de/rest.txt:1: there is no such message; the files are verify.txt, reset.txt'],
    [{ 'layout.html': '{{email}}' }, 'layout.html:1: {{email}} is no field of this message'],
    [{ 'fr/verify.txt': 'Subject: x\n' }, 'fr/verify.html is missing'],
    [{ 'a language/verify.txt': 'Subject: x\n' }, 'a language: the folder must be named for a language'],
  ] as [Record<string, string>, string][]) {
    it(`are refused with file and line: ${fault.slice(0, 60)}`, async () => {
      const folder = await folderOf(files)
      const found = await faultOf(loadTemplates(folder))
      expect(found).to.be.instanceOf(TemplateFault)
      expect(found).to.have.property('message').that.includes(join(folder, fault))
    })
  }

  it('may lack a message that the settings do not need', async () => {
    const folder = await folderOf({ 'fr/reset.txt': 'Subject: x\n', 'fr/reset.html': 'x' })
    expect((await loadTemplates(folder, ['reset'])).languages).to.include('fr')
  })

  it('are refused when their folder is missing', async () => {
    expect(await faultOf(loadTemplates(join(scratchFolder(), 'none')))).to.match(/none cannot be read \(ENOENT\)/)
  })
})

/** A folder with these files. */
async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = scratchFolder()
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}
