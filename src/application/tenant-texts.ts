import type { TenantTexts } from './ports/stores/tenant-texts.ts'

/**
 * Stores a text at the first start, and compares it at each later one: `'other'` if the stored text is another one. Of many concurrent
 * first starts, exactly one is the first.
 */
export async function checkText(texts: TenantTexts, name: string, text: string): Promise<'first' | 'same' | 'other'> {
  const stored = await texts.read(name)
  if (stored === null && (await texts.exchange(name, null, text))) return 'first'
  return (stored ?? (await texts.read(name))) === text ? 'same' : 'other'
}

/** Stores a text in place of any other one. */
export async function replaceText(texts: TenantTexts, name: string, text: string): Promise<void> {
  let isStored = false
  while (!isStored) isStored = await texts.exchange(name, await texts.read(name), text)
}
