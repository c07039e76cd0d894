import type { SecretMark } from '../../../application/ports/stores/secret-mark.ts'

export function memorySecretMark(): SecretMark {
  const marks = new Map<string, string>()
  return {
    async check(mark, name = 'secret') {
      const first = marks.get(name)
      if (first !== undefined) return first === mark ? 'same' : 'other'
      marks.set(name, mark)
      return 'first'
    },
    async replace(mark, name = 'secret') {
      marks.set(name, mark)
    },
    async read(name) {
      return marks.get(name) ?? null
    },
    async exchange(name, expected, next) {
      if ((marks.get(name) ?? null) !== expected) return false
      marks.set(name, next)
      return true
    },
  }
}
