import type { SecretMark } from '../../../application/ports/stores/secret-mark.ts'
import type { Connection } from './connection/connection.ts'

export function postgresSecretMark({ operation, change }: Connection): SecretMark {
  return {
    async check(mark) {
      const { one, change } = operation()
      const keep = `INSERT INTO @meta (name, value) VALUES ('secret-mark', $1) ON CONFLICT (name) DO NOTHING`
      if ((await change(keep, [mark])) === 1) return 'first'
      const kept = await one<{ value: string }>(`SELECT value FROM @meta WHERE name = 'secret-mark'`)
      return kept?.value === mark ? 'same' : 'other'
    },

    async replace(mark) {
      const put = `
        INSERT INTO @meta (name, value) VALUES ('secret-mark', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
      await change(put, [mark])
    },
  }
}
