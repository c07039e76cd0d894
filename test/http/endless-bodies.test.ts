import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import Koa from 'koa'
import { answering } from '../../src/adapters/http/server/answer.ts'
import { createLog } from '../../src/adapters/logging/log.ts'
import { eventually } from '../support/eventually.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { connected } from '../support/sockets.ts'
import { together } from '../support/together.ts'

const megabyte = Buffer.alloc(1_000_000, 'x')
const chunked = Buffer.concat([Buffer.from('f4240\r\n'), megabyte, Buffer.from('\r\n')])

describe('a body without end', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_LOGS__REQUESTS: 'all' })
  })
  after(() => service.stop())

  async function sendWithoutEnd(path: string, length: string, chunk: Buffer, status: number): Promise<void> {
    const connection = await connected(service.url, { allowHalfOpen: true })
    const { socket } = connection
    socket.write([`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', length, '', ''].join('\r\n'))
    const sendOn = (error?: Error | null): void => {
      if (error == null && !socket.destroyed) socket.write(chunk, sendOn)
    }
    sendOn()
    const answer = await connection.closed(5)
    expect(answer)
      .to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      .and.to.include('\r\nConnection: close\r\n')
  }

  it('that stops is logged as 499, not as 400', async () => {
    const { socket } = await connected(service.url)
    const requestId = 'left-in-the-middle'
    const head = ['POST /auth/register HTTP/1.1', 'Host: x', `X-Request-Id: ${requestId}`, 'Content-Length: 9', '', '{']
    socket.write(head.join('\r\n'))
    await delay(50)
    socket.destroy()
    const line = () => service.logLines.find((text) => text.includes(requestId))
    await eventually('the line of the request', () => line() !== undefined)
    expect(JSON.parse(line() ?? '')).to.include({ route: '/auth/register', status: 499 })
  })

  it('that was never announced is not logged as 499', async () => {
    const lines: string[] = []
    const log = createLog({ level: 'info' }, { write: (line) => void lines.push(line) })
    const answer = answering({ log, isTls: false, logRequests: 'all' })
    const app = new Koa().use((ctx) =>
      answer(ctx, async () => {
        await delay(100)
        ctx.status = 204
      }),
    )
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // safe: it listens on TCP
    const { socket } = await connected(`http://127.0.0.1:${port}`)
    socket.write('DELETE /users/somebody HTTP/1.1\r\nHost: x\r\n\r\n')
    await delay(50)
    socket.destroy()
    await eventually('the line of the request', () => lines.length === 1)
    server.close()
    expect(JSON.parse(lines[0] ?? '')).to.include({ status: 204 })
  })

  const cases = [
    ['/auth/register', 413],
    ['/nothing', 404],
  ] as const
  const bodies = [
    ['Content-Length: 1000000000', megabyte],
    ['Transfer-Encoding: chunked', chunked],
  ] as const
  together(
    cases.flatMap(([path, status]) =>
      bodies.map(([length, chunk]) => ({
        title: `to ${path} (${length}) is answered ${status}, and the connection is closed`,
        run: () => sendWithoutEnd(path, length, chunk, status),
      })),
    ),
  )
})
