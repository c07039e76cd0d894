import type { HttpBackend } from '../transports/http-backend.ts'

export interface MountedApp {
  /** The `client_id`. */
  readonly name: string
  /** For people. */
  readonly title: string
  readonly redirectUris: readonly string[]
  readonly backend: HttpBackend
}
