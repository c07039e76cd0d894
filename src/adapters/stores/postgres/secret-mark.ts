import type { SecretMark } from '../../../application/ports/stores/secret-mark.ts'
import type { Connection } from './connection/connection.ts'

const rowOf = (name = 'secret'): string => (name === 'secret' ? 'secret-mark' : name)

export function postgresSecretMark({ operation, one, change }: Connection): SecretMark {
  return {
    async check(mark, name) {
      const { one, change } = operation()
      const keep = `INSERT INTO @meta (name, value) VALUES ($2, $1) ON CONFLICT (name) DO NOTHING`
      if ((await change(keep, [mark, rowOf(name)])) === 1) return 'first'
      const kept = await one<{ value: string }>('SELECT value FROM @meta WHERE name = $1', [rowOf(name)])
      return kept?.value === mark ? 'same' : 'other'
    },

    async replace(mark, name) {
      const put = `
        INSERT INTO @meta (name, value) VALUES ($2, $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
      await change(put, [mark, rowOf(name)])
    },

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
