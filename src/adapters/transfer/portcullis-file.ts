import { type FileHandle, open } from 'node:fs/promises'
import type { ArrivingEnd, ArrivingUser, UserSource } from '../../application/ports/user-source.ts'
import { digestOf, type End, formatVersion, type Header, lineOf, parseHeader, parseLine } from './records.ts'

/** Writes records to the new file `path`, for its owner alone (0600). Returns their number and the sum of their digests. */
export async function writeUsersFile(
  path: string,
  facts: Omit<Header, 'type' | 'version'>,
  records: AsyncIterable<ArrivingUser | ArrivingEnd>,
  sumOf: (one: string, other: string) => string,
): Promise<{ readonly records: number; readonly digest: string }> {
  const file = await open(path, 'wx', 0o600)
  try {
    let digest = sumOf('', '0')
    let count = 0
    await file.appendFile(`${lineOf({ type: 'portcullis', version: formatVersion, ...facts })}\n`)
    let lines: string[] = []
    for await (const record of records) {
      const line = lineOf(record)
      digest = sumOf(digest, digestOf(line))
      count++
      lines.push(`${line}\n`)
      if (lines.length < 100) continue
      await file.appendFile(lines.join(''))
      lines = []
    }
    const end: End = { type: 'end', records: count, digest }
    await file.appendFile(`${lines.join('')}${lineOf(end)}\n`)
    await file.sync()
    return { records: count, digest }
  } finally {
    await file.close()
  }
}

export interface UsersFile extends UserSource {
  /** The size of the file. */
  readonly bytes: number
  /** The last line of the file, once `arrivals` has reached it; `null` for a file that ends early. */
  end(): End | null
}

/** Opens a file of `writeUsersFile`. A cursor is the place of the next line in bytes. */
export async function openUsersFile(path: string): Promise<UsersFile | { readonly objection: string }> {
  const file = await open(path, 'r')
  const lines = linesOf(file, 0)
  const { value: first } = await lines.next()
  const header = parseHeader(first?.line.toString() ?? '')
  if (first === undefined || 'objection' in header) {
    await file.close()
    return 'objection' in header ? header : { objection: 'is empty' }
  }
  const { size: bytes } = await file.stat()
  let end: End | null = null
  return {
    sealedBy: header.sealedBy,
    hasHashes: header.hasHashes,
    ...(header.lastNumber !== undefined && { lastNumber: header.lastNumber }),
    bytes,
    end: () => end,
    async *arrivals(after) {
      for await (const { line, next } of linesOf(file, after === null ? first.next : Number(after))) {
        const record = parseLine(line.toString())
        if (record.type === 'end') end = record
        else yield { cursor: String(next), digest: digestOf(line), record }
      }
    },
    close: () => file.close(),
  }
}

/** The lines from the byte `start` on, each with the place of the next one. */
async function* linesOf(file: FileHandle, start: number) {
  const newline = 0x0a
  let position = start
  let rest: Buffer[] = []
  let next = start
  const room = Buffer.alloc(1024 * 1024)
  for (;;) {
    const { bytesRead } = await file.read(room, 0, room.length, position)
    if (bytesRead === 0) break
    position += bytesRead
    const chunk = Buffer.from(room.subarray(0, bytesRead))
    let from = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...rest, chunk.subarray(from, at)])
      rest = []
      next += line.length + 1
      from = at + 1
      yield { line, next }
    }
    rest.push(chunk.subarray(from))
  }
  const line = Buffer.concat(rest)
  if (line.length > 0) yield { line, next: next + line.length }
}
