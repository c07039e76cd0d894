// A program that embeds two use cases on the SQLite file of EMBEDDING_FOLDER: says how long it took, from its first
// import to the first answer of one of them, in milliseconds.
const began = performance.now()
const { isCommonPassword, newId, openStore, passwordHasher, ReadUser, RegisterUser } = await import('portcullis')

const { users } = await openStore({ kind: 'sqlite', dataFolder: process.env.EMBEDDING_FOLDER })
const policy = { minLength: 8, isCommon: isCommonPassword }
export const registerUser = new RegisterUser({
  users,
  hasher: passwordHasher(),
  policy,
  clock: () => new Date(),
  newId,
})
export const readUser = new ReadUser({ users })
await readUser.execute(newId())
console.log(`ready ${performance.now() - began}`)
