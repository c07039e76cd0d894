import { constants, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Writes what of `bytes` is taken at once, and answers how much that was. Throws as `fs.writeSync` does. */
export type WriteSome = (bytes: Buffer) => number

/** Standard output or error. Whichever it is says that it is full (`isBusy`), rather than wait until somebody reads. */
export function writeSomeTo(stream: 1 | 2): WriteSome {
  return (bytes) => writeSync(descriptorOf(stream), bytes)
}

/** Whether the fault was that nothing can be taken now. */
export function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'EAGAIN'
}

const descriptors = new Map<1 | 2, number>()

function descriptorOf(stream: 1 | 2): number {
  const known = descriptors.get(stream)
  if (known !== undefined) return known
  void (stream === 1 ? process.stdout : process.stderr) // opening it makes a pipe one that does not wait
  const descriptor = isatty(stream) ? (ownTerminal(stream) ?? stream) : stream
  descriptors.set(stream, descriptor)
  return descriptor
}

/**
 * Our way to the terminal, which may be stopped (Ctrl-S): what is set on it is set for nobody else. `null` where there is
 * none, on systems without `/proc` and on terminals that are not ours to open: who writes there waits, as Node does.
 * Never `/dev/tty`, which may be another one.
 */
function ownTerminal(stream: 1 | 2): number | null {
  try {
    return openSync(`/proc/self/fd/${stream}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return null
  }
}
