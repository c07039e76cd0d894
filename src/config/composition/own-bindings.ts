import type { Container, ServiceIdentifier } from 'inversify'

/**
 * Throws unless each of these names is bound in this very container. What a tenant finds in a parent instead belongs to
 * all: a singleton there keeps the first tenant's stores, and hands them to every other one.
 */
export function requireOwnBindings(container: Container, names: Iterable<ServiceIdentifier>): void {
  for (const name of names) {
    if (!container.isCurrentBound(name)) throw new Error(`${nameOf(name)} is not bound in the tenant's own container`)
  }
}

function nameOf(name: ServiceIdentifier): string {
  return typeof name === 'function' ? name.name : String(name)
}
