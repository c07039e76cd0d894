/** NIST SP 800-107 section 5.3.4: a key of HMAC-SHA-256 is as strong as it is long, up to 32 bytes. */
const leastBytes = 32

/** Long placeholders that people copy from READMEs, tutorials and compose files, also from ours. */
const samples: ReadonlySet<string> = new Set([
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
  '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
  'changemechangemechangemechangeme',
  'change-me-change-me-change-me-change-me',
  'change-me-to-at-least-32-random-bytes',
  'replace-this-with-at-least-32-random-bytes',
])

/** The reason why a text must not be the master secret, without repeating it; `null` if it may. */
export function secretObjection(secret: string): string | null {
  if (samples.has(secret)) return 'is a sample from documentation, which everybody knows'
  const bytes = Buffer.byteLength(secret)
  return bytes < leastBytes ? `must have at least ${leastBytes} bytes, but has ${bytes}` : null
}
