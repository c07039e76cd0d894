/**
 * Shows progress at most every `intervalMilliseconds`: a bar on a terminal, plain lines elsewhere.
 *
 * @param {NodeJS.WritableStream & { isTTY?: boolean, columns?: number }} stream
 */
export function progressOn(stream, { now = () => performance.now(), intervalMilliseconds = null } = {}) {
  const isTerminal = stream.isTTY === true
  const interval = intervalMilliseconds ?? (isTerminal ? 100 : 5000)
  let shownAt = Number.NEGATIVE_INFINITY
  let last = ''

  /** @param {number} share from 0 to 1 @param {string} words */
  function show(share, words) {
    if (now() - shownAt < interval) return
    shownAt = now()
    write(share, words)
  }

  function write(share, words) {
    const percent = `${Math.floor(share * 100)} %`.padStart(5)
    const line = `${percent}  ${words}\n`
    if (line === last) return
    last = line
    if (!isTerminal) return stream.write(line)
    const room = Math.min(40, (stream.columns ?? 80) - percent.length - words.length - 6)
    const filled = Math.round(share * room)
    const bar = room < 5 ? '' : `[${'#'.repeat(filled)}${'-'.repeat(room - filled)}] `
    stream.write(`\r${bar}${percent}  ${words}\x1b[K`) // erases the rest of the previous line
  }

  return {
    show,
    /** Writes the final state, regardless of the interval. */
    end(share, words) {
      write(share, words)
      if (isTerminal) stream.write('\n')
    },
  }
}
