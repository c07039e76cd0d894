// Embeds two use cases on the SQLite file of EMBEDDING_FOLDER: with `new`, or with openPortcullis if EMBEDDING_BY is
// `settings`. Prints the milliseconds from its first import to the first result of a use case.
const { EMBEDDING_BY, EMBEDDING_FOLDER: dataFolder } = process.env

const began = performance.now()
const portcullis = await import('portcullis')
export const { registerUser, readUser } =
  EMBEDDING_BY === 'settings' ? await bySettings(portcullis) : await byNew(portcullis)
await readUser.execute(portcullis.newId())
console.log(`ready ${performance.now() - began}`)

async function bySettings({ openPortcullis }) {
  const { accounts } = await openPortcullis({ dataFolder })
  return accounts
}

async function byNew({ isCommonPassword, newId, openStore, passwordHasher, ReadUser, RegisterUser }) {
  const { users } = await openStore({ kind: 'sqlite', dataFolder })
  const policy = { minLength: 8, isCommon: isCommonPassword }
  const needs = { users, hasher: passwordHasher(), policy, clock: () => new Date(), newId }
  return { registerUser: new RegisterUser(needs), readUser: new ReadUser(needs) }
}
