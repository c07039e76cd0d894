export interface Sent {
  readonly json?: object
  readonly form?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** @param owner the id of the user whose page it is. Another one who signs in in another tab does not act here. */
export function send(
  method: string,
  url: string,
  owner: string | null,
  { json, form, signal }: Sent,
): Promise<Response> {
  const body = json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json)
  const headers = {
    ...(json !== undefined && { 'Content-Type': 'application/json' }),
    ...(owner !== null && { 'Portcullis-User': owner }),
  }
  return fetch(url, { method, credentials: 'same-origin', headers, ...(body && { body }), ...(signal && { signal }) })
}

export const isJson = ({ headers }: Response): boolean =>
  headers.get('Content-Type')?.startsWith('application/json') ?? false

/** A `detail` that is no list of faults. */
export interface Refused {
  readonly code?: unknown
  readonly reason?: string
  readonly rule?: string
  readonly challenge?: string
  readonly methods?: readonly string[]
}

// Safe: the members are those of the answers of the service.
export const refusedBy = (detail: unknown): Refused =>
  (typeof detail === 'object' && detail !== null ? detail : { code: detail }) as Refused
