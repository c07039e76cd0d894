import type { SecretMark } from '../../../application/ports/stores/secret-mark.ts'

export function memorySecretMark(): SecretMark {
  let first: string | null = null
  return {
    async check(mark) {
      if (first !== null) return first === mark ? 'same' : 'other'
      first = mark
      return 'first'
    },
    async replace(mark) {
      first = mark
    },
  }
}
