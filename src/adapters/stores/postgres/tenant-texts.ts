import type { TenantTexts } from '../../../application/ports/stores/tenant-texts.ts'
import type { Connection } from './connection/connection.ts'

const rowOf = (name: string): string => (name === 'secret' ? 'secret-mark' : name)

export function postgresTenantTexts({ one, change }: Connection): TenantTexts {
  return {
    async read(name) {
      const kept = await one<{ value: string }>('SELECT value FROM @meta WHERE name = $1', [rowOf(name)])
      return kept?.value ?? null
    },

    async exchange(name, expected, next) {
      const row = rowOf(name)
      const changed =
        expected === null
          ? change('INSERT INTO @meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [row, next])
          : change('UPDATE @meta SET value = $2 WHERE name = $1 AND value = $3', [row, next, expected])
      return (await changed) === 1
    },
  }
}
