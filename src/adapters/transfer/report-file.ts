import { type FileHandle, open, readFile } from 'node:fs/promises'
import { parseJson } from '../../lib/json-text.ts'

/** The lines of a report: what an import could not store, how far it came, and at last what it has done. */
export interface ReportFile<Progress extends object> {
  /** The progress of an import of the same source that did not end; `null` if there is none. */
  readonly unfinished: Progress | null
  /** Adds lines about records, and the progress behind them. */
  note(problems: readonly object[], progress: Progress): Promise<void>
  /** Adds the last line: the entry about this import. */
  finish(entry: object): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the report at `path`, for its owner alone (0600). Each import adds its lines behind those of earlier ones.
 *
 * @param source names the source, without secrets
 * @param options.resumes whether this import goes on where an earlier one has stopped
 */
export async function openReport<Progress extends object>(
  path: string,
  source: string,
  { resumes }: { readonly resumes: boolean },
): Promise<ReportFile<Progress>> {
  const former = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const file = await open(path, 'a', 0o600)
  const unfinished = (resumes ? unfinishedIn(former, source) : null) as Progress | null // safe: `note` has written it
  const isTorn = former !== '' && !former.endsWith('\n')
  const at = new Date().toISOString()
  await file.appendFile(`${isTorn ? '\n' : ''}${lineOf({ type: 'begin', at, source, isResumed: unfinished !== null })}`)
  return {
    unfinished,
    note: (problems, progress) =>
      append(file, [...problems.map((one) => ({ type: 'problem', ...one })), { type: 'progress', progress }]),
    finish: async (entry) => {
      await append(file, [{ type: 'end', at: new Date().toISOString(), ...entry }])
      await file.sync()
    },
    close: () => file.close(),
  }
}

function append(file: FileHandle, lines: readonly object[]): Promise<void> {
  return file.appendFile(lines.map(lineOf).join(''))
}

const lineOf = (line: object): string => `${JSON.stringify(line)}\n`

/** A dry run, or an import of another source, may have been between the two. */
function unfinishedIn(report: string, source: string): unknown {
  let progress: unknown = null
  let isOfSource = false
  for (const text of report.split('\n')) {
    const parsed = parseJson(text)
    const line = Object('value' in parsed ? parsed.value : {}) // a killed process may have left half a line
    if (line.type === 'begin') {
      isOfSource = line.source === source
      if (isOfSource && line.isResumed !== true) progress = null
    } else if (isOfSource && line.type === 'progress') progress = line.progress
    else if (isOfSource && line.type === 'end') progress = null
  }
  return progress
}
