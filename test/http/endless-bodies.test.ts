import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { connected } from '../support/http/sockets.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const megabyte = Buffer.alloc(1_000_000, 'x')
const chunked = Buffer.concat([Buffer.from('f4240\r\n'), megabyte, Buffer.from('\r\n')])

describe('an endless body', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_LOGS__REQUESTS: 'all' })
  })
  after(() => service.stop())

  it('is logged as 499, not as 400, if its client leaves', async () => {
    const { socket } = await connected(service.url)
    const requestId = 'left-in-the-middle'
    const head = ['POST /auth/register HTTP/1.1', 'Host: x', `X-Request-Id: ${requestId}`, 'Content-Length: 9', '', '{']
    socket.end(head.join('\r\n'))
    const isOfRequest = (line: string) => line.includes(requestId)
    const line = await eventually('the line of the request', () => service.logLines.find(isOfRequest))
    expect(JSON.parse(line)).to.include({ route: '/auth/register', status: 499 })
  })

  for (const [path, status] of [
    ['/auth/register', 413],
    ['/nothing', 404],
  ] as const) {
    for (const [length, chunk] of [
      ['Content-Length: 1000000000', megabyte],
      ['Transfer-Encoding: chunked', chunked],
    ] as const) {
      it(`gets ${status} at ${path} (${length}), and the connection is closed`, async () => {
        const { socket, closed } = await connected(service.url, { allowHalfOpen: true })
        const head = [`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', length, '', '']
        socket.write(head.join('\r\n'))
        const sendOn = (error?: Error | null): void => {
          if (error == null && !socket.destroyed) socket.write(chunk, sendOn)
        }
        sendOn()
        expect(await closed())
          .to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
          .and.to.include('\r\nConnection: close\r\n')
      })
    }
  }
})
