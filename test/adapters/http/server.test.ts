import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect } from 'chai'
import { httpServer } from '../../../src/adapters/http/server/http-server.ts'
import { eventually } from '../../support/eventually.ts'
import { type Connection, connected, exchangeUntilClosed } from '../../support/http/sockets.ts'
import { inTime } from '../../support/in-time.ts'

/** The states of the kernel's IPv4 connections from one local port to another. */
async function statesBetween(from: number, to = 0): Promise<string[]> {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
  const lines = await readFile('/proc/net/tcp', 'utf8')
  const wanted = new RegExp(`:${hex(from)} \\w+:${hex(to)} (\\w\\w)`, 'g')
  return [...lines.matchAll(wanted)].map(([, state = '']) => state)
}

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
  clientOf: () => null,
  notAccepted: (_fault: Error): void => undefined,
}
const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

type HttpServer = ReturnType<typeof httpServer>

describe('the HTTP server', () => {
  let server: HttpServer
  let url: string

  before(async () => {
    server = httpServer({ ...limits, isTls: true })
    server.serve((_request, response) => {
      response.end('fine')
    })
    url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  })
  after(() => server.close(1))

  for (const [fault, bytes, status, detail] of [
    ['no HTTP', 'nonsense\r\n\r\n', 400, 'Bad Request'],
    [
      'two lengths of one body',
      'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'Bad Request',
    ],
    ['headers above 8 KiB', `GET / HTTP/1.1\r\nX: ${'x'.repeat(9000)}\r\n\r\n`, 431, 'Request Header Fields Too Large'],
  ] as const) {
    it(`answers ${fault} in the form of every error, and closes`, async () => {
      const answer = await exchangeUntilClosed(url, bytes)
      const [head = '', body] = answer.split('\r\n\r\n')
      const [line, ...headers] = head.split('\r\n')
      expect(line).to.equal(`HTTP/1.1 ${status} ${detail}`)
      expect(headers).to.include.members(headersOnEvery)
      expect(headers.filter((header) => /^X-Request-Id: [0-9a-f-]{36}$/.test(header))).to.have.lengthOf(1)
      expect(body).to.equal(JSON.stringify({ detail }))
    })
  }

  /** Servers of one test each. */
  let others: HttpServer[] = []
  afterEach(async () => {
    await Promise.all(others.map((one) => one.close(0)))
    others = []
  })
  async function open(listener: RequestListener, more: Partial<typeof limits> = {}): Promise<[string, HttpServer]> {
    const other = httpServer({ ...limits, ...more })
    other.serve(listener)
    others.push(other)
    return [`http://127.0.0.1:${await other.listen('127.0.0.1', 0)}`, other]
  }

  it('answers a request that came before there was anything to answer it', async () => {
    const early = httpServer(limits)
    others.push(early)
    const arrived = new Promise((resolve) => channel('http.server.request.start').subscribe(resolve))
    const answer = fetch(`http://127.0.0.1:${await early.listen('127.0.0.1', 0)}`)
    await arrived
    early.serve((_request, response) => {
      response.end('fine')
    })
    expect(await (await answer).text()).to.equal('fine')
  })

  it('closes a refused connection although its client keeps it open, and does not wait for it when it stops', async () => {
    const [at, own] = await open(() => undefined)
    const { socket, text } = await connected(at, { allowHalfOpen: true })
    socket.write('nonsense\r\n\r\n')
    await once(socket, 'end')
    expect(text()).to.match(/^HTTP\/1\.1 400 /)
    const began = performance.now()
    await own.close(60)
    expect(performance.now() - began).to.be.below(inTime)
    socket.destroy()
  })

  it('answers complete requests before it closes a connection for later bytes', async () => {
    const answers: (() => void)[] = []
    const [at] = await open((_request, response) => void answers.push(() => response.end('late')))
    for (const later of ['nonsense\r\n\r\n', request.replace('\r\n', `\r\nX: ${'x'.repeat(9000)}\r\n`)]) {
      const { socket, closed } = await connected(at)
      socket.write(request + later)
      await eventually('the request', () => answers.length === 1)
      socket.write('more')
      answers.pop()?.()
      expect(await closed()).to.match(/^HTTP\/1\.1 200 .*^Connection: close\r$.*late$/ms)
    }
  })

  it('runs no request that arrives after the last answer', async () => {
    let runs = 0
    const [at] = await open((_request, response) => {
      runs += 1
      response.setHeader('Connection', 'close').end('last')
    })
    const { socket } = await connected(at, { allowHalfOpen: true })
    socket.write(request)
    await once(socket, 'end')
    await eventually('the end of the connection', () => socket.closed || !socket.write(request))
    expect(runs).to.equal(1)
  })

  it('survives clients that reset a refused connection, before or after its answer', async () => {
    for (const isAnswered of [false, true]) {
      const { socket } = await connected(url)
      socket.write('nonsense\r\n\r\n')
      if (isAnswered) await once(socket, 'data')
      socket.resetAndDestroy()
    }
    expect(await (await fetch(url)).text()).to.equal('fine')
  })

  it('sends `Connection: close` while it stops', async () => {
    const answers: (() => void)[] = []
    const [at, own] = await open((_request, response) => {
      answers.push(() => response.end('late'))
    })
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

  it('ends connections by an answer while it drains, and closes idle ones afterwards', async () => {
    const [at, own] = await open((_request, response) => void response.end('fine'))
    const [used, late, unused] = [await connected(at), await connected(at), await connected(at)]
    const silent = await connected(at) // as browsers open them in advance
    for (const { socket, text } of [used, late, unused]) {
      socket.write(request)
      await eventually('an answer', () => text().endsWith('fine'))
      expect(text()).to.match(/^Connection: keep-alive\r$/m)
    }
    const drained = Promise.withResolvers<void>()
    const closed = own.close(60, drained.promise)
    const isRefused = () =>
      connected(at).then(
        ({ socket }) => void socket.destroy(),
        ({ code }) => code === 'ECONNREFUSED',
      )
    await eventually('a refused connection', isRefused)
    used.socket.write(request)
    expect(await used.closed()).to.match(/^Connection: close\r$.*fine$/ms)
    expect([late, unused].map(({ socket }) => socket.readyState)).to.deep.equal(['open', 'open'])
    late.socket.write(request) // has arrived, and is not read yet
    drained.resolve()
    expect(await late.closed()).to.match(/^Connection: close\r$.*fine$/ms)
    await Promise.all([unused.closed(), closed])
    expect(await silent.closed()).to.equal('') // and no 408 after Node's time-out
  })

  it('answers connections that wait to be accepted when it closes', async () => {
    const [at, own] = await open((_request, response) => void response.end('fine'))
    const waiting = Array.from({ length: 50 }, async () => {
      const connection = await connected(at)
      connection.socket.write(request)
      return connection.closed()
    })
    await new Promise((resolve) => process.nextTick(resolve)) // the system has connected all, and Node has accepted none
    const closed = own.close(60)
    for (const answer of await Promise.all(waiting)) expect(answer).to.match(/^Connection: close\r$.*fine$/ms)
    await closed
  })

  it('answers connections that arrive while a request keeps it busy as it closes', async () => {
    const late: Promise<string>[] = []
    const [at, own] = await open((_request, response) => {
      if (late.length === 0) {
        for (let count = 0; count < 20; count += 1) late.push(exchangeUntilClosed(at, request))
        for (const end = performance.now() + 20; performance.now() < end; );
      }
      response.end('fine')
    })
    const busy = await connected(at)
    const closed = own.close(60)
    await nextIteration() // the server has looked for connections once
    busy.socket.write(request)
    expect(await busy.closed()).to.match(/fine$/)
    for (const answer of await Promise.all(late)) expect(answer).to.match(/^Connection: close\r$.*fine$/ms)
    await closed
  })

  it('closes a connection with more than 16 pipelined requests, and runs none of the further ones', async () => {
    const answers: (() => void)[] = []
    const [at] = await open((_request, response) => {
      answers.push(() => response.end('late'))
    })
    const { socket, closed } = await connected(at)
    socket.write(request.repeat(1_000))
    expect(await closed()).to.equal('')
    expect(answers.splice(0)).to.have.lengthOf.at.most(1)
    const next = await connected(at)
    next.socket.write(request.repeat(16))
    for (let turn = 0; turn < 16; turn++) (await eventually('a request', () => answers.shift()))()
    await eventually('all answers', () => next.text().match(/late/g)?.length === 16)
    next.socket.destroy()
  })

  it('runs pipelined requests one after the other, and other connections meanwhile', async () => {
    const answers = new Map<string, () => void>()
    const [at] = await open((request, response) => {
      answers.set(request.url ?? '', () => response.end(request.url))
    })
    const pipelining = await connected(at)
    pipelining.socket.write(request.replace('/', '/first') + request.replace('/', '/second'))
    await eventually('the first request', () => answers.has('/first'))
    const other = await connected(at)
    other.socket.write(request.replace('/', '/other'))
    await eventually('the other request', () => answers.has('/other'))
    expect(answers.has('/second')).to.equal(false)
    answers.get('/first')?.()
    await eventually('the second request', () => answers.has('/second'))
    answers.get('/second')?.()
    await eventually('both answers', () => pipelining.text().endsWith('/second'))
    for (const { socket } of [pipelining, other]) socket.destroy()
  })

  it('keeps idle connections open for longer than load balancers do', async () => {
    expect((await fetch(url)).headers.get('keep-alive')).to.equal('timeout=65')
  })

  describe('at its maximum of connections', () => {
    async function served(connection: Connection): Promise<void> {
      connection.socket.write(request)
      await eventually('an answer', () => connection.text().endsWith('fine'))
    }

    it('closes idle connections for a new one, but none that waits for an answer', async () => {
      let answer = (): void => undefined
      const [at] = await open(
        (request, response) => {
          const finish = () => response.end('fine')
          if (request.url === '/slow') answer = finish
          else finish()
        },
        { maxConnections: 5 },
      )
      const slow = await connected(at)
      slow.socket.write(request.replace('/', '/slow'))
      const idle = await Promise.all([connected(at), connected(at), connected(at)])
      for (const one of idle) await served(one)
      await served(await connected(at))
      for (const one of idle) await one.closed()
      for (let more = 0; more < 3; more++) await served(await connected(at))
      answer()
      await eventually('the slow answer', () => slow.text().endsWith('fine'))
    })

    it('also closes connections that become idle later', async () => {
      const answers: (() => void)[] = []
      const [at] = await open((_request, response) => void answers.push(() => response.end('fine')), {
        maxConnections: 3,
      })
      const busy = await Promise.all([connected(at), connected(at), connected(at)])
      for (const { socket } of busy) socket.write(request)
      await eventually('all requests', () => answers.length === busy.length)
      for (const answer of answers) answer()
      for (const { closed } of busy) expect(await closed()).to.match(/fine$/)
    })

    it('refuses new connections if none is idle, and reports that once', async () => {
      const faults: string[] = []
      const notAccepted = ({ message }: Error) => void faults.push(message)
      const [at] = await open(() => undefined, { maxConnections: 3, notAccepted })
      const busy = await Promise.all([connected(at), connected(at), connected(at)])
      for (const { socket } of busy) socket.write(request)
      for (let one = 0; one < 3; one++) expect(await (await connected(at)).closed()).to.equal('')
      expect(faults).to.deep.equal(['http.maxConnections is reached: 3'])
    })
  })

  it('resets a connection whose client does not read its answer', async () => {
    let isClosed = false
    const [at] = await open(
      (_request, response) => {
        response.once('close', () => {
          isClosed = true
        })
        setTimeout(() => response.end(Buffer.alloc(32_000_000)), 300)
      },
      { writeTimeoutSeconds: 1 },
    )
    const { socket } = await connected(at)
    socket.pause()
    socket.write(request)
    await eventually('the end of the answer', () => isClosed)
    // Otherwise the kernel keeps the unread answer, as a connection in FIN-WAIT-1.
    const states = () => statesBetween(Number(new URL(at).port), socket.localPort)
    if (process.platform === 'linux') await eventually('no connection', async () => (await states()).length === 0, 20)
    socket.destroy()
  })

  it('keeps a connection whose client reads before each time-out', async () => {
    const [size, part] = [32_000_000, 8_000_000]
    const [at] = await open((_request, response) => response.end(Buffer.alloc(size)), { writeTimeoutSeconds: 1 })
    const { socket } = await connected(at)
    let taken = 0
    socket.on('data', (chunk: Buffer) => {
      const isNextPart = Math.floor(taken / part) < Math.floor((taken + chunk.length) / part)
      taken += chunk.length
      if (!isNextPart) return
      socket.pause()
      setTimeout(() => socket.resume(), 700)
    })
    socket.write(request)
    await eventually('the whole answer', () => taken > size)
    socket.destroy()
  })

  it('keeps a connection whose answer takes longer to prepare than the write time-out', async () => {
    const late: RequestListener = (_request, response) => response.once('timeout', () => response.end('fine'))
    const [at] = await open(late, { writeTimeoutSeconds: 1 })
    expect(await (await fetch(at)).text()).to.equal('fine')
  })

  it('accepts new connections while a flood of requests on others keeps it busy', async () => {
    const flooding = 300
    const begun = { flood: 0, late: 0 }
    const [at] = await open((request, response) => {
      if (request.url === '/late') begun.late += 1
      else begun.flood += 1
      response.end('fine')
    })
    const flood = await Promise.all(Array.from({ length: flooding }, () => connected(at)))
    for (const { socket } of flood) {
      const again = () => socket.write(request)
      socket.on('data', again)
      again()
    }
    await eventually('the flood', () => begun.flood > flooding)
    const before = begun.flood
    const late = await Promise.all(Array.from({ length: 20 }, () => connected(at)))
    for (const { socket } of late) socket.write(request.replace('/', '/late'))
    await eventually('the late requests', () => begun.late === late.length)
    for (const { socket } of [...flood, ...late]) socket.destroy()
    expect(begun.flood - before).to.be.below(25 * flooding) // 16 with pacing, 84 without
  })
})
