// Guards of connections that are not worth keeping. See scripts/planted-faults.mjs.

const server = 'src/adapters/http/server/http-server.ts'
const connections = ['test/http/endless-bodies.test.ts']
const refusals = ['test/http/server.test.ts']
const paths = ['test/http/methods-and-paths.test.ts']

export default [
  [
    'the end of a connection behind an unread body',
    'src/adapters/http/server/answer.ts',
    "if (!ctx.req.complete && mayGoOn(ctx.req)) ctx.res.setHeader('Connection', 'close')",
    '',
    connections,
  ],
  ['a body that is read though nobody wants it', server, 'setImmediate(() => socket.pause())', '', connections],
  [
    'a refused connection that its other side keeps',
    server,
    'setTimeout(() => socket.destroy(), lingerMilliseconds).unref()',
    '',
    refusals,
  ],
  ['a body that is asked for in vain', server, 'if (!isTooLong(request.headers)) ', '', refusals],
  ['headers of what is no request', server, '...headersOnEvery, ', '', refusals],
  [
    'a request that names no host',
    'src/adapters/http/server/answer.ts',
    "return httpVersion !== '1.1'",
    'return true',
    paths,
  ],
  ['a request that names two hosts', 'src/adapters/http/server/answer.ts', 'named <= 1 && ', '', paths],
  ['a host that is none', 'src/adapters/http/server/answer.ts', ' && hostForm.test(headers.host)', '', paths],
  [
    'a transfer coding that nobody undoes',
    'src/adapters/http/server/answer.ts',
    "&& coding !== 'chunked'",
    '&& false',
    paths,
  ],
  [
    'a request that is begun before the one before it is answered',
    server,
    'if (!unfinished) return listener',
    'return listener',
    refusals,
  ],
  ['a request behind the last one', server, 'if (socket.writable) listener', 'listener', refusals],
  ['requests that wait without bounds', server, 'if (allWaiting === mostWaiting)', 'if (false)', refusals],
].map(([title, file, text, replacement, tests]) => ({ title, file, text, replacement, tests }))
