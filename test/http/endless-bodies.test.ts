import { expect } from 'chai'
import { startTestService, type TestService } from '../support/service.ts'
import { connected } from '../support/sockets.ts'

describe('a body without end', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => service.stop())

  for (const [path, status] of [
    ['/auth/register', 413],
    ['/nothing', 404],
  ] as const) {
    for (const length of ['Content-Length: 1000000000', 'Transfer-Encoding: chunked']) {
      it(`to ${path} (${length}) is answered ${status}, and not listened to`, async () => {
        const connection = await connected(service.url, { allowHalfOpen: true })
        const { socket } = connection
        socket.write(
          [`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', length, '', ''].join('\r\n'),
        )
        const megabyte = Buffer.alloc(1_000_000, 'x')
        const chunk = length.startsWith('Transfer')
          ? Buffer.concat([Buffer.from('f4240\r\n'), megabyte, Buffer.from('\r\n')])
          : megabyte
        const sendOn = (error?: Error | null): void => {
          if (error == null && !socket.destroyed) socket.write(chunk, sendOn)
        }
        sendOn()
        const answer = await connection.closed(5)
        expect(answer)
          .to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
          .and.to.include('\r\nConnection: close\r\n')
        // What both kernels keep for a connection is a few of them.
        expect(socket.bytesWritten - socket.writableLength).to.be.below(20_000_000)
      })
    }
  }
})
