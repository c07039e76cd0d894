import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { type HttpServer, httpServer } from '../../src/adapters/http/server/http-server.ts'
import { eventually } from '../support/eventually.ts'
import { inTime } from '../support/in-time.ts'
import { type Connection, connected, exchangeUntilClosed } from '../support/sockets.ts'

const headersOnEvery = [
  'Content-Type: application/json; charset=utf-8',
  'Cache-Control: no-store',
  'X-Content-Type-Options: nosniff',
  'Referrer-Policy: no-referrer',
  "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
  'Strict-Transport-Security: max-age=31536000; includeSubDomains',
]

const limits = {
  isTls: false,
  maxConnections: 10_000,
  writeTimeoutSeconds: 20,
  notAccepted: () => undefined,
}

describe('the HTTP server', () => {
  let server: HttpServer
  let url: string

  before(async () => {
    server = httpServer(
      (_request, response) => {
        response.end('fine')
      },
      { ...limits, isTls: true },
    )
    url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  })
  after(() => server.close(1))

  for (const [what, bytes, status, detail] of [
    ['no HTTP', 'nonsense\r\n\r\n', '400 Bad Request', 'Bad Request'],
    [
      'two lengths of one body',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      '400 Bad Request',
      'Bad Request',
    ],
    [
      'headers above 8 KiB',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(9000)}\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'Request Header Fields Too Large',
    ],
  ] as const) {
    it(`answers ${what} in the form of every error, and closes`, async () => {
      const answer = await exchangeUntilClosed(url, bytes)
      const [head = '', body] = answer.split('\r\n\r\n')
      const [line, ...headers] = head.split('\r\n')
      expect(line).to.equal(`HTTP/1.1 ${status}`)
      expect(headers).to.include.members(headersOnEvery)
      expect(headers.filter((header) => /^X-Request-Id: [0-9a-f-]{36}$/.test(header))).to.have.lengthOf(1)
      expect(body).to.equal(JSON.stringify({ detail }))
    })
  }

  it('closes a refused connection whose client keeps its side open, and does not wait for it at the end', async () => {
    const own = httpServer(() => undefined, limits)
    const { socket, text } = await connected(`http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`, {
      allowHalfOpen: true,
    })
    socket.write('nonsense\r\n\r\n')
    await once(socket, 'end')
    expect(text()).to.match(/^HTTP\/1\.1 400 /)
    const began = performance.now()
    await own.close(60)
    expect(performance.now() - began).to.be.below(inTime)
    socket.destroy()
  })

  it('survives clients that reset a refused connection', async () => {
    for (const milliseconds of [0, 1, 50]) {
      const { socket } = await connected(url)
      socket.write('nonsense\r\n\r\n')
      await delay(milliseconds)
      socket.resetAndDestroy()
    }
    expect(await (await fetch(url)).text()).to.equal('fine')
  })

  describe('with a request that is still being answered', () => {
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
    let own: HttpServer
    let at: string
    let answers: (() => void)[] = []

    beforeEach(async () => {
      answers = []
      own = httpServer((_request, response) => {
        answers.push(() => response.end('late'))
      }, limits)
      at = `http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`
    })
    afterEach(() => own.close(1))

    it('announces the end of the connection in answers that it gives while it closes', async () => {
      const before = await connected(at)
      before.socket.write(request)
      await eventually('the first request', () => answers.length === 1)
      const during = await connected(at)
      during.socket.write(request.slice(0, 10))
      const ended = own.close(6)
      during.socket.write(request.slice(10))
      await eventually('the second request', () => answers.length === 2)
      for (const answer of answers) answer()
      for (const { closed } of [before, during]) expect(await closed()).to.match(/^Connection: close\r$/m)
      await ended
    })

    it('closes a connection with more than 16 pipelined requests, and begins none of the others', async () => {
      const { socket, closed } = await connected(at)
      socket.write(request.repeat(1_000))
      expect(await closed()).to.equal('')
      expect(answers.length).to.be.at.most(16)
      const next = await connected(at)
      next.socket.write(request.repeat(16))
      await eventually('all requests', () => answers.length >= 16)
      for (const answer of answers) answer()
      await eventually('all answers', () => next.text().match(/late/g)?.length === 16)
      next.socket.destroy()
    })
  })

  it('keeps idle connections open for longer than load balancers do', async () => {
    expect((await fetch(url)).headers.get('keep-alive')).to.equal('timeout=65')
  })

  describe('at its maximum of connections', () => {
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

    async function served(connection: Connection): Promise<void> {
      connection.socket.write(request)
      await eventually('an answer', () => connection.text().endsWith('fine'))
    }

    it('closes idle ones for a new one, and none that waits for its answer', async () => {
      let answer = (): void => undefined
      const own = httpServer(
        (request, response) => {
          const finish = () => response.end('fine')
          if (request.url === '/slow') answer = finish
          else finish()
        },
        { ...limits, maxConnections: 5 },
      )
      const at = `http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`
      const slow = await connected(at)
      slow.socket.write(request.replace('/', '/slow'))
      const idle = await Promise.all([connected(at), connected(at), connected(at)])
      for (const one of idle) await served(one)
      await served(await connected(at))
      for (const one of idle) await one.closed()
      for (let more = 0; more < 3; more++) await served(await connected(at))
      answer()
      await eventually('the slow answer', () => slow.text().endsWith('fine'))
      await own.close(0)
    })

    it('refuses new ones where none is idle, and reports that once', async () => {
      const faults: string[] = []
      const own = httpServer(() => undefined, {
        ...limits,
        maxConnections: 3,
        notAccepted: ({ message }) => faults.push(message),
      })
      const at = `http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`
      const busy = await Promise.all([connected(at), connected(at), connected(at)])
      for (const { socket } of busy) socket.write(request)
      for (let one = 0; one < 3; one++) expect(await (await connected(at)).closed()).to.equal('')
      expect(faults).to.deep.equal(['http.maxConnections is reached: 3'])
      await own.close(0)
    })
  })

  it('closes a connection whose client does not read its answer', async () => {
    let closed = (): void => undefined
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const own = httpServer(
      (_request, response) => {
        response.once('close', closed)
        response.end(Buffer.alloc(32_000_000))
      },
      { ...limits, writeTimeoutSeconds: 1 },
    )
    const { socket } = await connected(`http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`)
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await isClosed
    socket.destroy()
    await own.close(0)
  })

  it('keeps a connection whose answer takes longer to prepare than the write time-out', async () => {
    const own = httpServer((_request, response) => response.once('timeout', () => response.end('fine')), {
      ...limits,
      writeTimeoutSeconds: 1,
    })
    const at = `http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`
    expect(await (await fetch(at)).text()).to.equal('fine')
    await own.close(0)
  })

  it('accepts new connections while a flood of requests on others keeps it busy', async () => {
    const flooding = 300
    const begun = { flood: 0, late: 0 }
    const own = httpServer((request, response) => {
      if (request.url === '/late') begun.late += 1
      else begun.flood += 1
      response.end('fine')
    }, limits)
    const at = `http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`
    const flood = await Promise.all(Array.from({ length: flooding }, () => connected(at)))
    for (const { socket } of flood) {
      const again = () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      socket.on('data', again)
      again()
    }
    await eventually('the flood', () => begun.flood > flooding)
    const before = begun.flood
    const late = await Promise.all(Array.from({ length: 20 }, () => connected(at)))
    for (const { socket } of late) socket.write('GET /late HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the late requests', () => begun.late === late.length)
    for (const { socket } of [...flood, ...late]) socket.destroy()
    expect(begun.flood - before).to.be.below(5 * flooding)
    await own.close(0)
  })
})
