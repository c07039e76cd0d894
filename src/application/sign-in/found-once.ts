import type { User } from '../../domain/user.ts'

/** Reads a user at the first call alone. */
export function foundOnce(read: () => Promise<User | null>) {
  let found: Promise<User | null> | undefined
  const find = (): Promise<User | null> => {
    found ??= read()
    return found
  }
  return { find, isSought: () => found !== undefined }
}
