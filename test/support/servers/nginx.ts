import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { projectFile } from '../project/readme-blocks.ts'
import { scratchFolder } from '../services/spawned-service.ts'
import { skipIfMissing } from './obstacles.ts'
import { freePort } from './ports.ts'

export interface Nginx {
  readonly url: string
  /** The lines of its log so far. */
  errors(): readonly string[]
  /** The lines of its access log so far. */
  requests(): Promise<readonly string[]>
  close(): Promise<void>
}

export function needsNginx(suite: Mocha.Context): void {
  const isInstalled = spawnSync('nginx', ['-v']).status === 0
  skipIfMissing(suite, isInstalled ? null : 'there is no nginx on the PATH')
}

/** deploy/nginx.conf without TLS, on a free port, in front of services on these two ports. */
export async function startNginx(ports: readonly [number, number]): Promise<Nginx> {
  const port = await freePort()
  return await started(port, example(port, ports))
}

/** A way from a port of nginx to that of a service below `path`, which the proxy removes or keeps. */
interface WayBelow {
  readonly kind: 'removed' | 'kept'
  readonly listen: number
  readonly service: number
}

/**
 * nginx that passes on `path` and `/.well-known/`, as docs/operations.md shows it. It looks like a browser, so that the pages for
 * this machine can be tried through it.
 */
export async function startNginxBelow(path: string, ways: readonly [WayBelow, ...WayBelow[]]): Promise<Nginx> {
  const servers = ways.map(({ kind, listen, service }) => {
    const upstream = `http://127.0.0.1:${service}`
    return `server {
      listen 127.0.0.1:${listen};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection keep-alive;
      location ${path}/ { proxy_pass ${upstream}${kind === 'removed' ? '/' : ''}; }
      location /.well-known/change-password { proxy_pass ${upstream}; }
    }`
  })
  return await started(ways[0].listen, servers.join('\n'))
}

async function started(port: number, servers: string): Promise<Nginx> {
  const folder = scratchFolder()
  const file = join(folder, 'nginx.conf')
  await writeFile(file, configuration(servers))
  const child = spawn('nginx', ['-p', folder, '-e', 'stderr', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  const kill = () => child.kill('SIGTERM')
  process.once('exit', kill)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const url = `http://127.0.0.1:${port}`
  await eventually('an answer of nginx', () => {
    if (child.exitCode !== null) throw new Error(`nginx ended:\n${errors}`)
    return fetch(url, { redirect: 'manual' }).catch(() => null)
  })
  return {
    url,
    errors: () => errors.split('\n'),
    requests: async () => (await readFile(join(folder, 'access.log'), 'utf8')).split('\n'),
    async close() {
      process.off('exit', kill)
      kill()
      await ended
    },
  }
}

function example(port: number, [first, second]: readonly [number, number]): string {
  let example = projectFile('deploy/nginx.conf')
  for (const [text, instead] of [
    ['server 127.0.0.1:3000 ', `server 127.0.0.1:${first} `],
    ['server 127.0.0.1:3001 ', `server 127.0.0.1:${second} `],
    ['listen [::]:443 ssl;', ''],
    ['/var/log/nginx/accounts.log', 'access.log'],
    ['listen 443 ssl;', `listen 127.0.0.1:${port};`],
    ['ssl_certificate     /etc/ssl/accounts.pem;', ''],
    ['ssl_certificate_key /etc/ssl/accounts.key;', ''],
  ] as const) {
    if (!example.includes(text)) throw new Error(`deploy/nginx.conf lacks: ${text}`)
    example = example.replace(text, instead)
  }
  return example
}

function configuration(servers: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${one};`)
  return `
    daemon off;
    pid nginx.pid;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http {
      set_real_ip_from 127.0.0.1;
      real_ip_header X-Test-Client;
      ${temporary.join('\n')}
      ${servers}
    }`
}
