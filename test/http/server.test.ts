import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { type HttpServer, httpServer } from '../../src/adapters/http/server/http-server.ts'
import { eventually } from '../support/eventually.ts'
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
  let taken = 0

  before(async () => {
    server = httpServer(
      (_request, response) => {
        taken++
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
    ['a tunnel', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', '400 Bad Request', 'Bad Request'],
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

  it('closes on those, too, who do not close their side, and waits for none of them at its end', async () => {
    const own = httpServer(() => undefined, limits)
    const { socket, text } = await connected(`http://127.0.0.1:${await own.listen('127.0.0.1', 0)}`, {
      allowHalfOpen: true,
    })
    socket.write('nonsense\r\n\r\n')
    await once(socket, 'end')
    expect(text()).to.match(/^HTTP\/1\.1 400 /)
    const began = performance.now()
    await own.close(6)
    expect(performance.now() - began).to.be.below(3_000)
    socket.destroy()
  })

  it('outlives those who reset what it has refused', async () => {
    for (const bytes of ['CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\nzzzz', 'nonsense\r\n\r\n']) {
      for (const milliseconds of [0, 1, 50]) {
        const { socket } = await connected(url)
        socket.write(bytes)
        await delay(milliseconds)
        socket.resetAndDestroy()
      }
    }
    await delay(100)
    expect(await (await fetch(url)).text()).to.equal('fine')
  })

  describe('with a request that is still being answered', () => {
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
    const broken = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n'
    const tunnel = 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n'
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

    const statuses = (text: string) => text.match(/HTTP\/1\.1 \d+/g) ?? []

    it('refuses what follows it and is no request after that, once', async () => {
      const { socket, closed, text } = await connected(at)
      socket.write(`${request}nonsense\r\n\r\n`)
      for (let one = 0; one < 20; one++) {
        socket.write('x')
        await delay(2)
      }
      expect(text()).to.equal('')
      for (const answer of answers) answer()
      expect(statuses(await closed())).to.deep.equal(['HTTP/1.1 200', 'HTTP/1.1 400'])
    })

    it('begins the next one once its answer has been taken, and none after the last', async () => {
      const begun: string[] = []
      const inTurn = httpServer((request, response) => {
        begun.push(request.url ?? '')
        if (request.url === '/last') response.setHeader('Connection', 'close')
        setImmediate(() => response.end(request.url === '/much' ? 'x'.repeat(8_000_000) : 'little'))
      }, limits)
      const { socket, closed } = await connected(`http://127.0.0.1:${await inTurn.listen('127.0.0.1', 0)}`)
      socket.pause()
      const paths = ['/little', '/much', '/after', '/last', '/never', '/never']
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
      await eventually('the second request', () => begun.length === 2)
      await delay(50)
      expect(begun).to.deep.equal(['/little', '/much'])
      socket.resume()
      expect(statuses(await closed())).to.have.length(4)
      expect(begun).to.deep.equal(['/little', '/much', '/after', '/last'])
      await inTurn.close(1)
    })

    it('says to who comes while it closes that this answer is the last', async () => {
      const { socket, closed } = await connected(at)
      socket.write(request.slice(0, 10))
      await delay(50)
      const ended = own.close(6)
      socket.write(request.slice(10))
      await eventually('the request', () => answers.length === 1)
      answers[0]?.()
      expect(await closed()).to.match(/^Connection: close\r$/m)
      await ended
    })

    it('cuts off who has more wait when ten thousand do, until some of these are gone', async () => {
      const crowd = request.repeat(1_001)
      const many = await Promise.all(Array.from({ length: 10 }, () => connected(at)))
      for (const { socket } of many) socket.write(crowd)
      await eventually('ten first ones', () => answers.length === 10)
      const late = await connected(at)
      late.socket.write(request.repeat(2))
      expect(await late.closed(3)).to.equal('')

      many[0]?.socket.destroy()
      await delay(100)
      const next = await connected(at)
      next.socket.write(request + request.replace('Host', 'Connection: close\r\nHost'))
      await eventually('another first one', () => answers.length === 12)
      answers[11]?.()
      await eventually('the one behind it', () => answers.length === 13)
      answers[12]?.()
      expect(statuses(await next.closed(3))).to.have.length(2)
      for (const { socket } of many) socket.destroy()
    })

    it('lets no refusal of the next one be taken for its answer', async () => {
      for (const next of [broken, tunnel]) {
        const { socket, closed } = await connected(at)
        socket.write(`${request}${next}`)
        expect(statuses(await closed(3)), next).to.deep.equal([])
      }
    })

    it('waits at its end for nobody who asks for a tunnel behind it', async () => {
      const all = await Promise.all(Array.from({ length: 10 }, () => connected(at, { allowHalfOpen: true })))
      for (const { socket } of all) socket.write(`${request}${tunnel}`)
      await delay(50)
      const began = performance.now()
      await own.close(6)
      expect(performance.now() - began).to.be.below(2_000)
      for (const { socket } of all) socket.destroy()
    })
  })

  it('asks nobody for a body that is too long, and takes no notice of other expectations', async () => {
    const continued = (headers: Record<string, string>) =>
      new Promise<boolean>((resolve, reject) => {
        let isAsked = false
        const asking = request(url, { method: 'POST', headers: { Connection: 'close', ...headers } })
        asking.on('continue', () => {
          isAsked = true
          asking.end()
        })
        asking.on('response', (response) => {
          response.resume()
          resolve(isAsked)
        })
        asking.on('error', reject)
        asking.flushHeaders()
      })
    const expecting = { Expect: '100-continue' }
    expect(await continued({ ...expecting, 'Content-Length': '16385' })).to.equal(false)
    expect(await continued({ ...expecting, 'Transfer-Encoding': 'chunked' })).to.equal(true)
    const before = taken
    expect(await continued({ Expect: 'the best', 'Transfer-Encoding': 'chunked' })).to.equal(false)
    expect(taken).to.equal(before + 1)
  })

  it('closes after the answer to who asks for another protocol, since Node drops what comes with that', async () => {
    const asks = 'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'
    const before = taken
    const answer = await exchangeUntilClosed(url, `${asks}GET /behind HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(answer).to.match(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n.*fine$/s)
    expect(taken - before).to.equal(1)
  })

  it('keeps idle connections open for longer than load balancers do', async () => {
    expect((await fetch(url)).headers.get('keep-alive')).to.equal('timeout=65')
  })

  describe('with more connections than it has room for', () => {
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
