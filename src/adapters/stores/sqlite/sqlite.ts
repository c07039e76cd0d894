import type { StoreBackend } from '../backend.ts'

/** Users, sessions and tokens in one file of the data folder: the embedded default. */
export const sqliteBackend: StoreBackend = {
  kind: 'sqlite',
  roles: ['users', 'sessions', 'tokens'],
  protocols: [],
  async open(options) {
    const { sqliteHandle } = await import('./handle.ts') // the driver is native code: loaded when it is wanted
    return sqliteHandle(options)
  },
}
