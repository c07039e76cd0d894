import { expect } from 'chai'
import {
  anAddress,
  empty,
  forbidden,
  invalid,
  missing,
  notFound,
  refused,
  repeated,
  seen,
  stringType,
  unauthorized,
} from '../support/answers.ts'
import { call, goodPassword, logIn, logInByCookie, register, type Sent } from '../support/client.ts'
import { firstSuperuser } from '../support/first-superuser.ts'
import { startTestService, type TestService } from '../support/service.ts'

type Expected = ReturnType<typeof seen>
/** A way to make one part of a request, and what the check of this part answers; `null`: it passes. */
type Variant = readonly [name: string, sent: Sent, answer: Expected | null]

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const evil = { Origin: 'https://evil.example' }
const nobody = '01890000-0000-7000-8000-000000000000'

const unsized = refused(413, 'PAYLOAD_TOO_LARGE')
const compressed = refused(415, 'UNSUPPORTED_MEDIA_TYPE')
const unparsable = refused(400, 'There was an error parsing the body')
const malformed = (offset: number) =>
  invalid({
    type: 'json_invalid',
    loc: ['body', offset],
    msg: 'JSON decode error',
    ctx: { error: 'Expecting a JSON value' },
  })

/** Bodies that are refused before anybody asks who sends them. */
const unreadable: readonly Variant[] = [
  ['too large', { headers: json, body: 'x'.repeat(16_385) }, unsized],
  ['compressed', { headers: { ...json, 'Content-Encoding': 'gzip' }, body: '{}' }, compressed],
  ['in UTF-16', { headers: { 'Content-Type': 'application/json; charset=utf-16' }, body: '{}' }, compressed],
  ['not UTF-8', { headers: json, body: new Uint8Array([0x22, 0xff, 0x22]) }, unparsable],
  ['no JSON', { headers: json, body: '{"email":' }, malformed(9)],
]
const unreadableForms: readonly Variant[] = [
  ['too large', { headers: form, body: 'x'.repeat(16_385) }, unsized],
  ['compressed', { headers: { ...form, 'Content-Encoding': 'br' }, body: 'username=a' }, compressed],
  ['not UTF-8', { headers: form, body: 'username=%ff' }, unparsable],
  ['no multipart', { headers: { 'Content-Type': 'multipart/form-data; boundary=x' }, body: 'x' }, unparsable],
]

/** Every combination of one variant of each part, in the order of the parts; the first answer is the one expected. */
function combined(parts: readonly (readonly Variant[])[]): { name: string; sent: Sent; answer: Expected }[] {
  return parts
    .reduce<{ name: string; sent: Sent; answer: Expected | null }[]>(
      (all, part) =>
        all.flatMap((one) =>
          part.map(([name, sent, answer]) => ({
            name: `${one.name} ${name},`,
            sent: { ...one.sent, ...sent, headers: { ...one.sent.headers, ...sent.headers } },
            answer: one.answer ?? answer,
          })),
        ),
      [{ name: '', sent: {}, answer: null }],
    )
    .flatMap(({ answer, ...one }) => (answer === null ? [] : [{ ...one, answer }]))
}

describe('the order of checks', () => {
  let service: TestService
  let user: { id: string; email: string }
  let jwt: string
  let cookie: string
  let admin: string

  before(async () => {
    service = await startTestService()
    admin = await firstSuperuser(service)
    user = await register(service.url, anAddress())
    jwt = await logIn(service.url, user.email)
    cookie = await logInByCookie(service.url, user.email)
  })
  after(() => service.stop())

  async function expectAll(method: string, path: string, parts: readonly (readonly Variant[])[]): Promise<void> {
    const cases = combined(parts)
    expect(cases).to.have.length.above(1)
    for (const { name, sent, answer } of cases) {
      expect(seen(await call(service.url, method, path, sent)), `${method} ${path}:${name}`).to.deep.equal(answer)
    }
  }

  /** Bodies that are read, and refused for their fields or by the operation. */
  const fieldsOfUser: readonly Variant[] = [
    [
      'no object',
      { headers: json, body: '[]' },
      refused(422, [
        {
          ...missing(),
          type: 'model_attributes_type',
          msg: 'Input should be a valid dictionary or object to extract fields from',
        },
      ]),
    ],
    ['bad fields', { headers: json, body: '{"email":1,"password":"short"}' }, invalid(stringType('email'))],
    [
      'bad password',
      { headers: json, body: '{"password":"short"}' },
      refused(400, { code: 'UPDATE_USER_INVALID_PASSWORD', reason: 'Password should be at least 8 characters' }),
    ],
  ]

  it('on PATCH /users/{user_id}: body, credential, rights, target, fields, operation', async () => {
    const readable: Variant = ['read', { headers: json, body: '{}' }, null]
    const who = (): readonly Variant[] => [
      ['by nobody', {}, unauthorized],
      ['by a stranger', { bearer: 'x' }, unauthorized],
      ['by a user', { bearer: jwt }, forbidden],
      ['by a user from elsewhere', { cookie, headers: evil }, forbidden],
      ['by a superuser', { bearer: admin }, null],
    ]
    await expectAll('PATCH', `/users/${nobody}`, [[...unreadable, readable], who(), [['nobody', {}, notFound]]])
    // Fields that are checked late come first in the request here: they must not hide earlier checks.
    for (const fields of fieldsOfUser) {
      const [name, sent, answer] = fields
      const late: Variant = [name, sent, null]
      await expectAll('PATCH', `/users/${nobody}`, [[late], who(), [['nobody', {}, notFound]]])
      await expectAll('PATCH', `/users/${user.id}`, [[late], who(), [['somebody', {}, answer]]])
    }
  })

  it('on GET and DELETE /users/{user_id}: credential, rights, target', async () => {
    const who: readonly Variant[] = [
      ['by nobody', {}, unauthorized],
      ['by a user', { bearer: jwt }, forbidden],
      ['by a superuser', { bearer: admin }, null],
    ]
    for (const method of ['GET', 'DELETE'])
      await expectAll(method, `/users/${nobody}`, [who, [['nobody', {}, notFound]]])
  })

  it('on PATCH /users/me: body, credential, origin, fields, operation', async () => {
    const who: readonly Variant[] = [
      ['by nobody', {}, unauthorized],
      ['by nobody from elsewhere', { headers: evil }, unauthorized],
      ['by a cookie from elsewhere', { cookie, headers: evil }, forbidden],
      ['by a cookie', { cookie }, null],
      ['by a bearer from elsewhere', { bearer: jwt, headers: evil }, null],
    ]
    await expectAll('PATCH', '/users/me', [unreadable, who])
    for (const [name, sent, answer] of fieldsOfUser) {
      await expectAll('PATCH', '/users/me', [[[name, sent, null]], who, [['', {}, answer]]])
    }
  })

  it('on logout: credential, origin', async () => {
    for (const backend of ['jwt', 'cookie']) {
      await expectAll('POST', `/auth/${backend}/logout`, [
        [['from elsewhere', { headers: evil }, null]],
        [
          ['by nobody', {}, unauthorized],
          ['by a cookie', { cookie }, forbidden],
        ],
      ])
    }
    expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(200)
  })

  it('on login: body, origin, fields, operation', async () => {
    const elsewhere: readonly Variant[] = [
      ['from elsewhere', { headers: evil }, forbidden],
      ['from here', {}, null],
    ]
    const late: readonly Variant[] = [
      ['no fields', { headers: form, body: '' }, invalid(missing('username'), missing('password'))],
      ['twice', { headers: form, body: 'username=a&username=a' }, invalid(repeated('username'), missing('password'))],
      ['wrong', { headers: form, body: 'username=a&password=b' }, refused(400, 'LOGIN_BAD_CREDENTIALS')],
    ]
    await expectAll('POST', '/auth/cookie/login', [unreadableForms, elsewhere])
    for (const [name, sent, answer] of late) {
      await expectAll('POST', '/auth/cookie/login', [[[name, sent, null]], elsewhere, [['', {}, answer]]])
      await expectAll('POST', '/auth/jwt/login', [
        [[name, sent, null]],
        [['from elsewhere', { headers: evil }, null]],
        [
          ['', {}, answer],
          ['again', {}, answer],
        ],
      ])
    }
  })

  it('on register: body, origin, fields, password, address', async () => {
    const elsewhere: readonly Variant[] = [
      ['from elsewhere', { headers: evil }, forbidden],
      ['from here', {}, null],
    ]
    const late: readonly Variant[] = [
      ['no fields', { headers: json, body: '{}' }, invalid(missing('email'), missing('password'))],
      [
        'short and taken',
        { headers: json, body: JSON.stringify({ email: user.email, password: 'short' }) },
        refused(400, { code: 'REGISTER_INVALID_PASSWORD', reason: 'Password should be at least 8 characters' }),
      ],
      [
        'taken',
        { headers: json, body: JSON.stringify({ email: user.email, password: goodPassword }) },
        refused(400, 'REGISTER_USER_ALREADY_EXISTS'),
      ],
    ]
    await expectAll('POST', '/auth/register', [unreadable, elsewhere])
    for (const [name, sent, answer] of late) {
      await expectAll('POST', '/auth/register', [[[name, sent, null]], elsewhere, [['', {}, answer]]])
    }
  })

  it('on the token routes: body, fields, operation', async () => {
    const fields: Variant = ['bad fields', { headers: json, body: '{"email":1,"token":1,"password":1}' }, null]
    for (const [path, answer] of [
      ['/auth/forgot-password', invalid(stringType('email'))],
      ['/auth/request-verify-token', invalid(stringType('email'))],
      ['/auth/verify', invalid(stringType('token'))],
      ['/auth/reset-password', invalid(stringType('token'), stringType('password'))],
    ] as const) {
      const last: Variant = ['', {}, answer]
      await expectAll('POST', path, [[...unreadable, fields], [last]])
    }
  })

  it('on unknown paths and methods: 404 and 405 come first', async () => {
    const sent: Sent = { headers: { ...json, ...evil, 'Content-Encoding': 'gzip' }, body: '{', cookie }
    expect(seen(await call(service.url, 'POST', '/nothing', sent))).to.deep.equal(notFound)
    expect(seen(await call(service.url, 'POST', '/users/me', sent))).to.deep.equal(refused(405, 'Method Not Allowed'))
    expect(seen(await call(service.url, 'HEAD', '/users/me'))).to.deep.equal(empty(405))
  })
})
