import type { Worker } from 'node:cluster'

/** The messages by which Node hands a connection to a process, and learns whether the process has taken it. */
interface Internal {
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * When a process ends, the connections that it has not taken yet go to another one. Node forgets them, and their clients would
 * wait for ever. For a process that stops in order, Node does the same on the answer `accepted: false`.
 */
export function passOnLost(worker: Worker): void {
  const child = worker.process
  const onTheWay = new Set<number>()
  const send = child.send.bind(child) as (...args: readonly unknown[]) => boolean // safe: the arguments are passed on
  child.send = (message: Internal, ...others: readonly unknown[]) => {
    if (message.act === 'newconn' && message.seq !== undefined) onTheWay.add(message.seq)
    return send(message, ...others)
  }
  child.on('internalMessage', ({ ack }: Internal) => {
    if (ack !== undefined) onTheWay.delete(ack)
  })
  worker.once('exit', () => {
    for (const ack of onTheWay) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
  })
}
