/**
 * Shows how far something is, at most every `intervalMilliseconds`: as a bar on a terminal, otherwise as plain lines
 * that a log can keep.
 *
 * @param {NodeJS.WritableStream & { isTTY?: boolean, columns?: number }} stream
 */
export function progressOn(stream, { now = () => performance.now(), intervalMilliseconds = null } = {}) {
  const isTerminal = stream.isTTY === true
  const interval = intervalMilliseconds ?? (isTerminal ? 100 : 5000)
  let shownAt = Number.NEGATIVE_INFINITY
  let last = ''

  /** @param {number} share of 1 @param {string} words */
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
    stream.write(`\r${bar}${percent}  ${words}\x1b[K`) // the end of the line that stood there before is erased
  }

  return {
    show,
    /** The last word, whenever the one before was. */
    end(share, words) {
      write(share, words)
      if (isTerminal) stream.write('\n')
    },
  }
}
