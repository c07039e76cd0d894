// Guards of connections that are not worth keeping. See scripts/planted-faults.mjs.

const server = 'src/adapters/http/server/http-server.ts'
const connections = ['test/http/endless-bodies.test.ts']
const refusals = ['test/http/server.test.ts']
const paths = ['test/http/methods-and-paths.test.ts']

export default [
  [
    'the end of a connection behind an unread body',
    'src/adapters/http/server/answer.ts',
    "if (!ctx.req.complete && mayBeTooLong(ctx.req.headers)) ctx.res.setHeader('Connection', 'close')",
    '',
    connections,
  ],
  [
    'a refused connection that its other side keeps',
    server,
    'setTimeout(() => socket.destroy(), lingerMilliseconds).unref()',
    '',
    refusals,
  ],
  ['headers of what is no request', server, '...standardHeaders, ', '', refusals],
  [
    'a request that names no host',
    'src/adapters/http/server/answer.ts',
    "return httpVersion !== '1.1'",
    'return true',
    paths,
  ],
  ['a request that names two hosts', 'src/adapters/http/server/answer.ts', 'named.length <= 1 && ', '', paths],
  ['a host that is none', 'src/adapters/http/server/answer.ts', ' && hostForm.test(headers.host)', '', paths],
  [
    'a transfer coding that nobody undoes',
    'src/adapters/http/server/answer.ts',
    "&& coding !== 'chunked'",
    '&& false',
    paths,
  ],
  [
    'pipelined requests without bounds',
    server,
    'if (connection.unanswered === mostUnanswered)',
    'if (false)',
    refusals,
  ],
  ['connections without bounds', server, 'server.maxConnections = maxConnections', '', refusals],
  ['an answer that is never read', server, 'server.timeout = writeTimeoutSeconds * 1000', '', refusals],
  [
    'connections that wait behind a flood',
    'src/adapters/http/server/request-pacing.ts',
    'mostPerIteration = 4',
    'mostPerIteration = 100_000',
    refusals,
  ],
].map(([title, file, text, replacement, tests]) => ({ title, file, text, replacement, tests }))
