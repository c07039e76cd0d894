import type { TenantTexts } from '../../../application/ports/stores/tenant-texts.ts'

export function memoryTenantTexts(): TenantTexts {
  const texts = new Map<string, string>()
  return {
    async read(name) {
      return texts.get(name) ?? null
    },
    async exchange(name, expected, next) {
      if ((texts.get(name) ?? null) !== expected) return false
      texts.set(name, next)
      return true
    },
  }
}
