import { measuredPort } from '../../adapters/metrics/measured.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { StoreHandle } from '../../adapters/stores/store-backend.ts'
import { portNames, storePorts } from '../../adapters/stores/store-ports.ts'

/** Measures each operation of the store, if there are metrics. */
export function measuredHandle(handle: StoreHandle, store: string, metrics: Metrics | null): StoreHandle {
  if (metrics === null) return handle
  const ports = portNames.flatMap((name) => {
    const port = handle[name]
    return port === undefined ? [] : [[name, measuredPort(port, { store, ...storePorts[name] }, metrics)] as const]
  })
  return {
    ...(handle.announcements && { announcements: handle.announcements }),
    ...(handle.foreignAccess && { foreignAccess: handle.foreignAccess }),
    prepare: () => handle.prepare(),
    ping: () => handle.ping(),
    close: () => handle.close(),
    ...Object.fromEntries(ports), // safe: each port under its name
  }
}
