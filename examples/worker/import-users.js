// node examples/worker/import-users.js people.csv
// Registers every person in a CSV file with the use case behind POST /auth/register, without HTTP. You can kill it at any
// time; the next run continues.
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parse } from 'csv-parse'
import { emailKey, InvalidInput, openPortcullis, parseEmail, Refusal, Unavailable } from 'portcullis'
import { openJournal } from './journal.js'
import { progressOn } from './progress.js'

/** The number of rows that are registered concurrently and recorded together. */
const batchSize = 16
const patienceSeconds = 120

/** @param {string} file */
async function importUsers(file) {
  const { size } = await stat(file).catch((error) => {
    if (error.code !== 'ENOENT') throw error
    throw new Error(`there is no file ${file}`)
  })
  const journal = await openJournal(file, size)
  const { done } = journal
  const progress = progressOn(process.stderr)
  // The service or its workers deliver the events, because they have the handlers.
  const portcullis = await openPortcullis(await settingsFile(), { env: process.env, delivers: false })
  const register = registrar(portcullis.accounts)
  let isTold = false
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      isTold = true // stops after the current batch
    })
  }

  const words = () => `${done.registered} registered, ${done.refused} refused`
  // An earlier run may have died after it registered rows of its last batch and before it recorded them.
  let isInDoubt = journal.isResumed
  let read = 0
  let share = 0
  try {
    for await (const batch of batchesOf(file)) {
      if (isTold) break
      read += batch.length
      share = (batch.at(-1)?.bytes ?? 0) / size
      if (read <= done.records) {
        for (const one of batch) if (!journal.refusedLines.has(one.line)) register.remember(one)
        continue
      }
      const reasons = await Promise.all(batch.map((one) => register.one(one, isInDoubt)))
      await journal.commit(batch.map(({ line, email }, at) => ({ line, email, reason: reasons[at] ?? null })))
      isInDoubt = false
      progress.show(share, words())
    }
    progress.end(isTold ? share : 1, words())
    if (isTold) console.error('Stopped; start it again to go on.')
    else console.error(`Done. Whoever was refused is in ${journal.refusedPath}`)
    return isTold ? 1 : 0
  } finally {
    await portcullis.close()
    await journal.close()
  }
}

/** Registers rows with the same address one after the other, so that the first row gets the address. */
function registrar(accounts) {
  const turns = new Map()
  const registered = new Set()
  const keyOf = (email) => {
    const parsed = parseEmail(email)
    return 'email' in parsed ? emailKey(parsed.email) : null
  }

  /** Resolves to the reason of a refusal, or `null`. */
  async function register({ line, email, password }, isInDoubt) {
    const parsed = parseEmail(email)
    if ('objection' in parsed) return parsed.objection
    try {
      const requestId = `import-line-${line}`
      await patiently(() => accounts.registerUser.execute({ email: parsed.email, password, requestId }))
      return null
    } catch (error) {
      if (error instanceof InvalidInput) return error.message
      if (!(error instanceof Refusal)) throw error
      if (error.code !== 'REGISTER_USER_ALREADY_EXISTS') return error.reason ?? error.code
      const mayBeOurs = isInDoubt && !registered.has(emailKey(parsed.email))
      if (mayBeOurs && (await logsIn(parsed.email, password))) return null
      return 'The address has an account already.'
    }
  }

  /** Whether the existing account is the one of this row. */
  async function logsIn(email, password) {
    const [backend] = accounts.backends.values()
    try {
      await patiently(() => accounts.logIn.execute({ email, password, backend, requestId: 'import-check' }))
      return true
    } catch (error) {
      if (error instanceof Refusal) return error.code === 'LOGIN_USER_NOT_VERIFIED'
      throw error
    }
  }

  return {
    /** A row that an earlier run has registered. */
    remember: ({ email }) => registered.add(keyOf(email)),
    async one(record, isInDoubt) {
      const key = keyOf(record.email)
      const turn = Promise.resolve(turns.get(key)).then(() => register(record, isInDoubt))
      turns.set(key, turn)
      const reason = await turn
      if (turns.get(key) === turn) turns.delete(key)
      if (reason === null) registered.add(key)
      return reason
    },
  }
}

/** Tries again while a store is down or the queue of hashes is full. */
async function patiently(work) {
  for (const deadline = performance.now() + patienceSeconds * 1000; ; ) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > deadline) throw error
      await delay(error.retryAfterSeconds * 1000)
    }
  }
}

/** The records of the file in batches. `bytes` is the position of the end of a record. */
async function* batchesOf(file) {
  const parser = createReadStream(file).pipe(
    parse({ bom: true, columns: checkedColumns, info: true, relax_column_count: true, skip_empty_lines: true }),
  )
  let batch = []
  for await (const { record, info } of parser) {
    batch.push({ line: info.lines, bytes: info.bytes, email: record.email ?? '', password: record.password ?? '' })
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function checkedColumns(header) {
  for (const name of ['email', 'password']) {
    if (!header.includes(name)) throw new Error(`the first line names no column ${name}: ${header.join(', ')}`)
  }
  return header
}

/** Reads the settings like the service: the file, then the environment. */
async function settingsFile() {
  try {
    return JSON.parse(await readFile('portcullis.config.json', 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return {}
    throw error
  }
}

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error('usage: node examples/worker/import-users.js <file.csv>')
  process.exitCode = 2
} else {
  process.exitCode = await importUsers(file).catch((error) => {
    console.error(error.message)
    return 1
  })
}
