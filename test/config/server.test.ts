import { connect } from 'node:net'
import { expect } from 'chai'
import { type HttpServer, httpServer } from '../../src/config/server.ts'

/** Everything that comes back for these bytes. */
function answerTo(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })
}

describe('the HTTP server', () => {
  let server: HttpServer
  let port: number

  before(async () => {
    server = httpServer((_request, response) => response.end('fine'))
    port = await server.listen('127.0.0.1', 0)
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
      const answer = await answerTo(port, bytes)
      expect(answer.split('\r\n')[0]).to.equal(`HTTP/1.1 ${status}`)
      expect(answer).to.include('\r\nContent-Type: application/json; charset=utf-8\r\n')
      expect(answer.split('\r\n\r\n')[1]).to.equal(JSON.stringify({ detail }))
    })
  }
})
