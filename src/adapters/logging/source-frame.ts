import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

const builtFolder = new URL('.', import.meta.url).href

/** `null` for a file without a map. */
const maps = new Map<string, SourceMap | null>()

/**
 * The frame of a stack with the line of the source instead of the built file. Node's own source maps would read the map of every
 * file at the start; this reads that of a file with a fault.
 */
export function sourceFrame(frame: string): string {
  return frame.replace(/(file:\S+\.js):(\d+):(\d+)/, (place, file: string, line: string, column: string) => {
    if (!file.startsWith(builtFolder)) return place
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (entry === undefined || !('originalSource' in entry)) return place
    const source = fileURLToPath(new URL(entry.originalSource, file))
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })
}

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file)
  if (known !== undefined) return known
  const read = readMap(file)
  maps.set(file, read)
  return read
}

function readMap(file: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')))
  } catch {
    return null
  }
}
