/** A browser that blocks cookies throws instead of giving its storage. The pages work without it. */
function opened(kind: 'sessionStorage' | 'localStorage'): Storage | null {
  try {
    return window[kind]
  } catch {
    return null
  }
}

/** Of this tab; `null` if the browser refuses it. */
export const tabStorage = opened('sessionStorage')

/** Of this browser; `null` if the browser refuses it. */
export const browserStorage = opened('localStorage')
