import { leadsToLoopback } from './loopback.ts'

/** The name of the service for people: that of the settings, else the host. A name such as `localhost` says nothing. */
export function brandOf(name: string | null, home: URL): string {
  return name ?? (leadsToLoopback(home) ? 'Portcullis' : home.hostname)
}
