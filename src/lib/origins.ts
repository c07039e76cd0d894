/** Whether the text is an origin as browsers send it, such as `https://app.example.com`. */
export function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text) || text.includes('*') || !URL.canParse(text)) return false
  return new URL(text).origin === text
}

/**
 * Whether the text is an origin of an app scheme, such as `capacitor://localhost`, as the web view of an app sends it. The URL
 * standard gives these schemes no origin (WHATWG URL, "origin"), so such origins are compared as text.
 */
export function isAppOrigin(text: string): boolean {
  if (isAndroidApp(text)) return true
  if (!/^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+(:\d+)?$/.test(text) || !URL.canParse(text)) return false
  return new URL(text).origin === 'null'
}

/** How an Android app names itself in the answers of its passkeys: by the SHA-256 of the key that signs it. Its requests have no origin. */
export function isAndroidApp(text: string): boolean {
  return /^android:apk-key-hash:[\w-]{43}$/.test(text)
}
