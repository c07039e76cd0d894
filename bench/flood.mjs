// Repeats one request on many connections, each after its previous answer. It runs in a process of its own, so that the
// flood does not delay the process that measures. Reads `{ request, seconds }` as a line of JSON from standard input.
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const [port, connections] = process.argv.slice(2).map(Number)

createInterface({ input: process.stdin }).on('line', (line) => {
  const { request, seconds } = JSON.parse(line)
  const statuses = {}
  const open = new Set()
  let unanswered = connections
  const visit = () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    open.add(socket)
    socket.once('data', () => {
      unanswered -= 1
      if (unanswered === 0) console.log('begun')
    })
    socket.on('data', (answer) => {
      const status = answer.toString('latin1', 9, 12)
      statuses[status] = (statuses[status] ?? 0) + 1
      socket.write(request)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (open.delete(socket)) visit()
    })
  }
  for (let one = 0; one < connections; one++) visit()
  setTimeout(() => {
    for (const socket of open) {
      open.delete(socket)
      socket.destroy()
    }
    console.log(`flooded ${JSON.stringify(statuses)}`)
  }, seconds * 1000)
})
console.log('ready')
