import Type from 'typebox'
import { parseSubnet } from '../../../adapters/http/pipeline/client-address.ts'
import { address, enabled, frontEnd, host, seconds } from './fields.ts'

const subnet = () =>
  Type.Refine(
    Type.String({ expects: 'an IP address or a subnet (10.0.0.7, 10.0.0.0/8, 2001:db8::/32)' }),
    (text) => parseSubnet(text) !== null,
  )

export const http = Type.Object({
  host: host('Address to listen on; `0.0.0.0` or `::` for all.'),
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3000,
    description: 'Port to listen on. `0` picks a free port and prints it.',
  }),
  publicUrl: Type.Optional(
    address({
      otherwise: '`http://localhost:<port>` on loopback, elsewhere required',
      description:
        'Address under which browsers reach the service: an origin, or a path of one (`docs/operations.md`).',
    }),
  ),
  allowedOrigins: Type.Array(frontEnd(), {
    default: [],
    description:
      'Origins of front ends that may call the service (CORS): of web pages with credentials, of app schemes such as `capacitor://localhost` with bearer tokens only. `android:apk-key-hash:…` names an Android app whose passkeys count. Never `*` or `null`.',
  }),
  allowedHeaders: Type.Array(
    // A token (RFC 9110 section 5.6.2). In requests with credentials, * does not stand for all headers (W3C Fetch).
    Type.String({
      pattern: "^(?!\\*$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
      expects: 'the name of a header, such as X-Requested-With; * is none',
    }),
    {
      default: ['X-Requested-With', 'traceparent', 'baggage', 'sentry-trace'],
      description:
        'Headers that pages of these origins may send, in addition to `Authorization`, `Content-Type`, `X-Request-Id` and the header of the tenant.',
    },
  ),
  trustedProxies: Type.Optional(
    Type.Array(subnet(), {
      otherwise: 'not set: requests from loopback have no limits by client',
      description:
        'Addresses and subnets of the proxies in front of the service, whose `X-Forwarded-For` names the client (`docs/limits.md`). Without a proxy, set `[]`.',
    }),
  ),
  maxConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description:
      'Connections at a time. At the limit the service closes idle connections; if none is idle, it refuses new ones.',
  }),
  writeTimeoutSeconds: seconds(
    20,
    3600,
    'A connection is closed when its client reads no byte of an answer, or sends no byte of its headers, for this time.',
  ),
})

export const logs = Type.Object({
  level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'Lowest level of log lines (standard error).',
  }),
  requests: Type.Enum(['slow', 'all'], {
    default: 'slow',
    description: 'Requests in the log: `slow` means failed ones and those above 250 ms.',
  }),
})

export const metrics = Type.Object({
  port: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      otherwise: 'none: there are no metrics',
      description:
        'Port of `GET /metrics` for Prometheus (`docs/metrics.md`). It differs from `http.port`. `0` picks a free port and logs it.',
    }),
  ),
  host: host('Address of that port. Keep it in a network that only your monitoring can reach.'),
  allowedHosts: Type.Array(
    Type.String({ pattern: '^[A-Za-z0-9_.-]+$', expects: 'a host name, such as metrics.internal, without port' }),
    {
      default: [],
      description:
        'Names with a dot by which Prometheus reaches that port. IP addresses and names without a dot need no entry.',
    },
  ),
})

export const docs = Type.Object({
  enabled: enabled('Serves `/docs` and `/openapi.json`.', {
    hardened: {
      value: false,
      because: 'The description of the API is not public by accident (ASVS 5.0 section 13.4.5).',
    },
  }),
})

export const tryPage = Type.Object({
  enabled: Type.Optional(
    Type.Boolean({
      otherwise: 'on when the host and the public URL are loopback',
      description:
        "Serves `/try`, a page to try the service (`examples/browser`), to browsers on this machine. A request with another `Host`, with `Forwarded` or `X-Forwarded-*`, by HTTP/1.0, or without `Connection: keep-alive` gets 404. Browsers send it; for curl, give `-H 'Connection: keep-alive'`.",
    }),
  ),
})

/** The console for superusers. */
export const admin = Type.Object({
  enabled: Type.Optional(
    Type.Boolean({
      otherwise: 'on where the account pages are on, and the host and the public URL are loopback',
      description:
        'Serves the console for superusers at `/admin`, and its routes. Then changes by superusers with a cookie need a recent login, and at a public address all their requests with a cookie need a second factor (`docs/console.md`).',
    }),
  ),
  host: host('Address of `admin.port`.'),
  port: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      otherwise: 'none: the console is at `http.port`',
      description:
        'Port for a network of your own. It has everything that `http.port` has, and the console only there. `0` picks a free port and logs it.',
    }),
  ),
  allow: Type.Array(subnet(), {
    default: [],
    description:
      'Addresses and subnets that may use the console and the routes for superusers; others get 404 and 403. Empty: all. Behind a proxy, set `http.trustedProxies`, too.',
  }),
})
