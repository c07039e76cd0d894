import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { executable, scratchFolder } from '../support/services/spawned-service.ts'

describe('a service in a terminal', () => {
  before(function () {
    skipIfMissing(this, process.platform === 'linux' ? null : 'other systems have another script(1)')
  })

  it('ends when the terminal is closed', async () => {
    const cwd = scratchFolder()
    const env = { PATH: process.env.PATH, PORTCULLIS_HTTP__PORT: '0', SHELL: '/bin/sh' }
    const command = `exec '${process.execPath}' '${executable}' serve`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
    let url = ''
    createInterface({ input: terminal.stdout }).on('line', (line) => {
      url ||= /Portcullis listens on (\S+)/.exec(line)?.[1] ?? ''
    })
    await eventually('the service', () => url !== '')
    expect((await fetch(`${url}/healthz`)).status).to.equal(200)

    const closed = once(terminal, 'close')
    terminal.kill('SIGKILL')
    await closed
    const isDown = async () =>
      await fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      )
    await eventually('its end', isDown)
  })
})
