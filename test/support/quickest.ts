/** Of the allowed costs the one that many hashes at once pay soonest: their memory stays in the processor's caches. */
export const quickest = { PORTCULLIS_PASSWORDS__MEMORY_KIB: '7168', PORTCULLIS_PASSWORDS__TIME_COST: '5' }
