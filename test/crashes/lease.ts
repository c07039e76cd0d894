import { rounds } from '../support/mocha/long.ts'

/** A killed process keeps its leases for so long: the default of 20 s in test:long. */
const leaseSeconds = rounds(10, 20)
export const lease = { PORTCULLIS_EVENTS__LEASE_SECONDS: `${leaseSeconds}` }
/** After a crash and a restart every undelivered event arrives within so long. */
export const promisedSeconds = 30
