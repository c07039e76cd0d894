import { element } from './page.ts'

/** Saves a text as a file on the device. */
export function saveFile(name: string, type: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type }))
  element('a', { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href)) // the download has begun
}
