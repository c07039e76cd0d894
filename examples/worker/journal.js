import { open, readFile, rename, writeFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'

const columns = ['line', 'email', 'reason']

/**
 * Records the progress of a file in `<file>.progress.json`, and refused rows in `<file>.refused.csv`. After a kill, both
 * have the state of the last `commit`.
 *
 * @param {string} file
 * @param {number} size of the file; another size means another file with the same name
 */
export async function openJournal(file, size) {
  const path = `${file}.progress.json`
  const refusedPath = `${file}.refused.csv`
  const saved = await readFile(path, 'utf8').then(JSON.parse, (error) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (saved !== null && saved.size !== size) {
    throw new Error(`${file} has changed since the import began: remove ${path} to start from the beginning`)
  }
  const done = saved ?? { size, records: 0, registered: 0, refused: 0, refusedBytes: 0 }

  // A killed run may have written rows that it did not commit. Truncate them.
  const refusals = await open(refusedPath, done.refusedBytes === 0 ? 'w' : 'r+', 0o600)
  await refusals.truncate(done.refusedBytes)
  const earlier = parse(await readFile(refusedPath), { columns: true })

  const journal = {
    refusedPath,
    isResumed: saved !== null,
    /** The number of processed, registered and refused records. */
    done,
    /** The line numbers of refused rows. */
    refusedLines: new Set(earlier.map(({ line }) => Number(line))),

    /** Records a batch as a whole. @param {readonly { line: number, email: string, reason: string | null }[]} results */
    async commit(results) {
      const refused = results.filter(({ reason }) => reason !== null)
      const header = done.refusedBytes === 0
      // Spreadsheet programs execute a cell that begins with = as a formula.
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
  if (saved === null) await journal.commit([]) // so that the next run finds a position
  return journal
}
