import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scratchModule } from '../../adapters/events/scratch-module.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../services/spawned-service.ts'

export interface Note {
  readonly event: string
  readonly email: string
  readonly eventId: string
  readonly token?: string
  readonly did: 'begin' | 'end'
}

/** The address of the user names the fault of the first call, or of the first three calls. */
const faulty = `
  const attempts = (eventId) => notes().split('\\n').filter((line) => line.includes(eventId) && line.includes('begin')).length
  const handler = (event) => async (user, ...rest) => {
    const { eventId } = rest.pop()
    const { email } = user
    const attempt = attempts(eventId) + 1
    const token = typeof rest[0] === 'string' ? rest[0] : undefined
    note({ event, email, eventId, token, did: 'begin' })
    if (email.startsWith('fails') && attempt <= 3) throw new Error('no mail server')
    if (email.startsWith('hangs') && attempt === 1) await new Promise(() => {})
    if (email.startsWith('loops') && attempt === 1) for (;;);
    if (email.startsWith('exits') && attempt === 1) process.exit(1)
    note({ event, email, eventId, token, did: 'end' })
  }
  export const on_after_register = handler('register')
  export const on_after_update = async (user, { email }, { eventId }) => handler('update to ' + email)(user, { eventId })
  export const on_after_forgot_password = handler('forgot')
  export const on_after_request_verify = handler('verify')
  export const on_after_delete = handler('delete')
  export const validate_password = async (password, { email }) => {
    if (password.startsWith('known ')) return 'Password is known to attackers: ' + email
    if (password.startsWith('fault ')) throw new Error('no answer about ' + password)
    if (password.startsWith('never ')) await new Promise(() => {})
  }
  export const on_before_delete = async ({ email }) => {
    note({ event: 'before_delete', email, did: 'begin' })
    if (email.startsWith('kept')) throw { reason: 'has open invoices' }
    if (email.startsWith('fault')) throw new Error('no database at 10.0.0.7')
    if (email.startsWith('never')) await new Promise(() => {})
    if (email.startsWith('stuck')) for (;;);
    if (email.startsWith('leave')) process.exit(1)
  }`

export interface FaultyService {
  readonly service: SpawnedService
  readonly dataFolder: string
  /** The notes of the handlers so far. */
  notes(): Note[]
  /** The notes of calls that ended. */
  ends(): Note[]
  remove(): void
}

/** A service with handlers that are at fault, each within two seconds. */
export async function startFaulty(): Promise<FaultyService> {
  const module = scratchModule(faulty)
  const dataFolder = join(scratchFolder(), 'data')
  const service = await spawnService({
    PORTCULLIS_DATA_FOLDER: dataFolder,
    PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
    PORTCULLIS_HANDLERS__TIMEOUT_SECONDS: '2',
    PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
  })
  const notes = () => module.notes() as Note[] // safe: the module above writes nothing else
  return { service, dataFolder, notes, ends: () => notes().filter(({ did }) => did === 'end'), remove: module.remove }
}
