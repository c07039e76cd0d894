import type { DestinationStream } from 'pino'
import { isBusy, type WriteSome, writeSomeTo } from './without-waiting.ts'

export interface LogLines extends DestinationStream {
  /** `done` is called when nothing waits any more. */
  flush(done?: () => void): void
  /** Waits itself, for as long as a process at its end may. */
  flushSync(): void
}

/** What is on its way: lines, of which nothing or a part has been taken. */
interface Sending {
  rest: Buffer
  isBegun: boolean
  readonly lines: number
  /** Lost ones that it tells of. */
  readonly complained: number
}

/** At most so often lines are handed on. */
const gatherMilliseconds = 100
/** After that, who was busy reading may have room again. */
const retryMilliseconds = 10
/** How much of a process's end a reader gets who does not read. */
const lastMilliseconds = 400
/** In characters; who reads nothing for so long loses what comes then. */
const mostWaiting = 16 * 1024 * 1024

/** Of those in which lines wait. One listener for all: a program may open any number. */
const unwritten = new Set<LogLines>()
let isExiting = false
process.on('exit', () => {
  isExiting = true
  for (const lines of unwritten) lines.flushSync()
})

/**
 * Standard error. A line after a silence goes out at once, those that come soon after it go together: a flood of lines is
 * few writes. Nobody waits for a slow reader, and no fault of the reader's is one of ours: what it does not take waits,
 * what it cannot take (a terminal that is closed, a disk that is full) is lost, and a line says how much that was.
 */
export function logLines(writeSome: WriteSome = writeSomeTo(2)): LogLines {
  let waiting = { text: '', lines: 0 }
  let sending: Sending | null = null
  let lost = 0
  let isTorn = false
  const awaiting: (() => void)[] = []
  let silence: NodeJS.Timeout | null = null

  /** Hands on as much as is taken at once; answers whether nothing waits any more. */
  function send(): boolean {
    for (;;) {
      if (sending === null && waiting.lines === 0) return true
      sending ??= taken()
      try {
        sending.rest = sending.rest.subarray(writeSome(wholeLines(sending.rest)))
        sending.isBegun = true
        if (sending.rest.length > 0) continue
        lost -= sending.complained
        isTorn = false
      } catch (thrown) {
        if (isBusy(thrown)) return false
        lost += sending.lines
        isTorn ||= sending.isBegun
      }
      sending = null
    }
  }

  function taken(): Sending {
    const { text, lines } = waiting
    waiting = { text: '', lines: 0 }
    return { rest: Buffer.from(complaint() + text), isBegun: false, lines, complained: lost }
  }

  function complaint(): string {
    if (lost === 0) return ''
    const line = { level: 40, time: new Date(), lines: lost, msg: 'lines of the log were lost: nobody took them' }
    return `${isTorn ? '\n' : ''}${JSON.stringify(line)}\n`
  }

  function sendAndTell(): boolean {
    if (!send()) return false
    unwritten.delete(self)
    for (const done of awaiting.splice(0)) done()
    return true
  }

  function lookIn(milliseconds: number): void {
    silence = setTimeout(() => {
      silence = null
      if (sending !== null || waiting.lines > 0) sendNow()
    }, milliseconds).unref()
  }

  function sendNow(): void {
    lookIn(sendAndTell() ? gatherMilliseconds : retryMilliseconds)
  }

  const self: LogLines = {
    write(line) {
      if (waiting.text.length + line.length > mostWaiting) {
        lost += 1
        return
      }
      waiting = { text: waiting.text + line, lines: waiting.lines + 1 }
      unwritten.add(self)
      if (silence === null) sendNow()
      else if (isExiting) sendAndTell()
    },
    flush(done) {
      if (done !== undefined) awaiting.push(done)
      sendAndTell()
    },
    flushSync() {
      const until = performance.now() + lastMilliseconds
      while (!send() && performance.now() < until) Atomics.wait(sleeper, 0, 0, retryMilliseconds)
    },
  }
  return self
}

/** POSIX, `write`: a pipe takes so much at once or nothing, so that what others write comes between lines. */
const pipeBytes = 4096
const lineEnd = 0x0a

function wholeLines(bytes: Buffer): Buffer {
  if (bytes.length <= pipeBytes) return bytes
  const end = bytes.lastIndexOf(lineEnd, pipeBytes - 1)
  return bytes.subarray(0, (end === -1 ? bytes.indexOf(lineEnd) : end) + 1 || bytes.length)
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
