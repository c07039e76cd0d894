import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { skipIfMissing } from './obstacles.ts'
import { freePort } from './ports.ts'

/** A series of the answer to a query, with its value. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

export interface Prometheus {
  query(expression: string): Promise<readonly Sample[]>
  close(): Promise<void>
}

export function needsPrometheus(suite: Mocha.Context): void {
  const isMissing = ['prometheus', 'promtool'].some((name) => spawnSync(name, ['--version']).error !== undefined)
  skipIfMissing(suite, isMissing ? 'there is no prometheus on the PATH (apt-get install prometheus)' : null)
}

/** The exit code and the output of promtool. */
export function promtool(args: readonly string[], options: { input?: string; cwd?: string } = {}) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', ...options })
  return { code: status, output: `${stdout}${stderr}` }
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Scrapes `target` often, and evaluates these rules. */
export async function startPrometheus(target: string, rules: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-prometheus-'))
  const port = await freePort()
  const jobs = [{ job_name: 'portcullis', static_configs: [{ targets: [target] }] }]
  const often = { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' }
  writeFileSync(join(folder, 'rules.yml'), rules)
  // JSON is YAML.
  writeFileSync(
    join(folder, 'prometheus.yml'),
    JSON.stringify({ global: often, rule_files: ['rules.yml'], scrape_configs: jobs }),
  )
  const words: string[] = []
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  running.add(child)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  child.stderr.on('data', (chunk) => words.push(String(chunk)))
  const url = `http://127.0.0.1:${port}`
  await eventually('Prometheus', async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}: ${words.join('')}`)
    return await fetch(`${url}/-/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )
  })
  return {
    async query(expression) {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expression })}`)
      const answer = (await response.json()) as Answer // safe: the HTTP API of Prometheus
      if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`)
      return answer.data.result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }))
    },
    async close() {
      child.kill('SIGKILL')
      await ended
      running.delete(child)
      rmSync(folder, { recursive: true })
    },
  }
}

type Answer =
  | { readonly status: 'error'; readonly error: string }
  | {
      readonly status: 'success'
      readonly data: { readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] }
    }
