import type { TenantTexts } from '../ports/stores/tenant-texts.ts'

/** The name of the first day with logins from a former system, as `2026-12-31`. */
const firstDay = 'former-since'

/** Notes the first day. Later starts and other processes keep it. */
export async function noteFormerStart(texts: TenantTexts, now: Date): Promise<void> {
  await texts.exchange(firstDay, null, now.toISOString().slice(0, 10))
}

/** The first day; `null` if there were no such logins yet. It remains when the settings no longer allow them. */
export async function formerStart(texts: TenantTexts): Promise<string | null> {
  return await texts.read(firstDay)
}
