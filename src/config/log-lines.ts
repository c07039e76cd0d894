import { destination } from 'pino'

/** Where lines go, as pino's destinations take them. */
interface Out {
  write(lines: string): unknown
  /** Writes what was not begun yet, and waits itself until it is written. */
  flushSync(): void
}

interface LogLines extends Out {
  /** Hands on what waits. */
  flush(): void
}

const standardError = (sync: boolean): Out => destination({ dest: 2, sync })

/** At most so often lines are handed on. */
const gatherMilliseconds = 100

/** Of those in which lines wait. One listener for all: a program may open any number. */
const unwritten = new Set<() => void>()
process.on('exit', () => {
  for (const flushSync of unwritten) flushSync()
})

/**
 * Standard error, written by another thread, so that nobody waits for a slow reader. A line after a silence goes out at
 * once, those that come soon after it go together: each write is a job for libuv's few threads, which hash passwords.
 * What waits when the process exits is written then; of one that is killed, the lines of the last 100 ms may be missing.
 */
export function logLines(open: (sync: boolean) => Out = standardError): LogLines {
  const out = open(false)
  let waiting = ''
  let silence: NodeJS.Timeout | null = null

  const handOn = (to: Out): void => {
    to.write(waiting)
    waiting = ''
    unwritten.delete(flushSync)
  }
  /** Leaves nothing to threads: when a process exits, Node takes back what they have not begun. */
  const flushSync = (): void => {
    out.flushSync()
    if (waiting !== '') handOn(open(true))
  }
  const gather = (): void => {
    silence = setTimeout(() => {
      silence = null
      if (waiting === '') return
      handOn(out)
      gather()
    }, gatherMilliseconds).unref()
  }

  return {
    write(line) {
      if (silence === null) {
        out.write(line)
        gather()
      } else {
        waiting += line
        unwritten.add(flushSync)
      }
    },
    flush() {
      if (waiting !== '') handOn(out)
    },
    flushSync,
  }
}
