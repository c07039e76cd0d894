import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'

const columns = ['line', 'email', 'reason']

/**
 * What has been done of a file, beside it on the disk: `<file>.progress.json`, and `<file>.refused.csv` with whom it
 * was not done for. Both are as after the last `commit`, wherever the process was killed.
 *
 * @param {string} file
 * @param {number} size of the file, by which another one of the same name is told apart
 */
export async function openJournal(file, size) {
  const path = `${file}.progress.json`
  const refusedPath = `${file}.refused.csv`
  const saved = await readFile(path, 'utf8').then(JSON.parse, (error) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (saved !== null && saved.size !== size) {
    throw new Error(`${file} is not what it was when the import began: remove ${path} to begin anew`)
  }
  const done = saved ?? { size, records: 0, registered: 0, refused: 0, refusedBytes: 0 }

  // Whatever stands behind that was written by a run that did not live to commit it.
  const refusals = await open(refusedPath, done.refusedBytes === 0 ? 'w' : 'r+', 0o600)
  await refusals.truncate(done.refusedBytes)
  const earlier = parse(await readFile(refusedPath), { columns: true })

  const journal = {
    refusedPath,
    isResumed: saved !== null,
    /** How many records are done, and how they ended. */
    done,
    /** The lines that were refused. */
    refusedLines: new Set(earlier.map(({ line }) => Number(line))),

    /** Takes note of a batch as a whole. @param {readonly { line: number, email: string, reason: string | null }[]} results */
    async commit(results) {
      const refused = results.filter(({ reason }) => reason !== null)
      const header = done.refusedBytes === 0
      // A cell that begins with = is a formula to the programs that such files are opened with.
      const text = Buffer.from(stringify(refused, { columns, header, escape_formulas: true }))
      if (refused.length > 0 || header) {
        await refusals.write(text, 0, text.length, done.refusedBytes)
        await refusals.sync()
        done.refusedBytes += text.length
      }
      done.records += results.length
      done.refused += refused.length
      done.registered += results.length - refused.length
      await writeFile(`${path}.new`, JSON.stringify(done), { flush: true })
      await rename(`${path}.new`, path)
    },

    close: () => refusals.close(),
  }
  if (saved === null) await journal.commit([]) // from now on there is something to resume
  return journal
}
