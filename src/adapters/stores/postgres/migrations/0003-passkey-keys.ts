import type { Migration } from '../../migrations.ts'
import type { Queries } from '../connection/connection.ts'

const take = `
  INSERT INTO @field_claims (field, key, user_id)
  SELECT DISTINCT ':passkey', passkey ->> 'id', user_id
  FROM @user_private, jsonb_array_elements(factors::jsonb -> 'passkeys') AS passkey
  ON CONFLICT DO NOTHING`
const release = `
  DELETE FROM @field_claims AS claim USING @user_private AS person
  WHERE claim.user_id = person.user_id AND claim.field = ':passkey' AND claim.key = person.factors::jsonb ->> 'passkeyHandle'`
const forget = `
  UPDATE @user_private SET fields = (fields::jsonb #- '{keys,:passkey}')::text WHERE fields::jsonb -> 'keys' ? ':passkey'`

/** Users are found by the ids of their passkeys. An older release would look for the handle, which was their key. */
export const passkeyKeys: Migration<Queries> = {
  version: 3,
  excludesOlder: true,
  async run({ change }) {
    for (const statement of [take, release, forget]) await change(statement)
  },
}
