import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { type HandlerName, handlerCallTypes, handlerNameOf } from '../../../src/adapters/events/handlers.ts'
import type { HandlerCallType } from '../../../src/application/ports/event-handlers.ts'
import type { UserChanges } from '../../../src/domain/events.ts'
import { viewOf } from '../../../src/domain/user.ts'
import { aUser } from '../../../src/testing/builders.ts'
import type { RecordedCall } from '../../../src/testing/recorded-handlers.ts'

export interface ScratchModule {
  readonly url: URL
  /** The values that the module passed to its `note`, oldest first. */
  notes(): unknown[]
  rewrite(source: string): void
  remove(): void
}

/** A module of the deployer's in a folder of its own; `note(value)` is there to tell the test something. */
export function scratchModule(source: string): ScratchModule {
  const folder = mkdtempSync(join(tmpdir(), 'handlers-'))
  const file = join(folder, 'handlers.mjs')
  const notes = join(folder, 'notes')
  appendFileSync(notes, '')
  const rewrite = (text: string) =>
    writeFileSync(
      file,
      `import { appendFileSync, readFileSync } from 'node:fs'
       const note = (value) => appendFileSync(${JSON.stringify(notes)}, JSON.stringify(value) + '\\n')
       const notes = () => readFileSync(${JSON.stringify(notes)}, 'utf8')
       ${text}`,
    )
  rewrite(source)
  return {
    url: pathToFileURL(file),
    notes: () =>
      readFileSync(notes, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    rewrite,
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** A stream that collects its text. */
export function collecting() {
  const chunks: string[] = []
  const output = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  return { output, text: () => chunks.join('') }
}

/** The type of call that the handler of this name gets. */
export function callTypeOf(name: HandlerName): HandlerCallType {
  return handlerCallTypes.find((type) => handlerNameOf(type) === name) ?? 'registered'
}

export function aCall(
  name: HandlerName,
  more: { token?: string; password?: string; changes?: UserChanges } = {},
): RecordedCall {
  const context = {
    eventId: `event of ${name}`,
    requestId: 'request-1',
    languages: ['de'],
    by: { type: 'command' } as const,
    tenant: 'default',
    at: new Date(),
  }
  // Safe: each test gives the own data of the type.
  return { type: callTypeOf(name), user: viewOf(aUser()), ...more, context } as RecordedCall
}
