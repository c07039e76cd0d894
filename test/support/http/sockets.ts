import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A TCP connection to a service, and all that it has answered so far. */
export interface Connection {
  readonly socket: Socket
  text(): string
  /** Resolves to all that was answered once the other side has closed, be it by a reset; rejects after `seconds`. */
  closed(seconds?: number): Promise<string>
}

/** @param allowHalfOpen keeps its side open when the other one closes, as an attacker may */
export async function connected(url: string, { allowHalfOpen = false } = {}): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen })
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
  })
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  await once(socket, 'connect')
  socket.on('error', () => {})
  return {
    socket,
    text: () => text,
    closed(seconds = 60) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          socket.destroy()
          reject(new Error(`the connection is still open after ${seconds} s`))
        }, seconds * 1000)
        void closed.then((all) => {
          clearTimeout(timer)
          resolve(all)
        })
      })
    },
  }
}

/** Sends these bytes on a connection of their own; answers all that came back until the service closed it. */
export async function exchangeUntilClosed(url: string, bytes: string): Promise<string> {
  const connection = await connected(url)
  connection.socket.write(bytes)
  return connection.closed()
}

/** A POST of JSON as bytes, after whose answer the connection is closed. */
export function jsonPost(path: string, json: unknown): string {
  const body = JSON.stringify(json)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
