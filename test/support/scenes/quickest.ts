/** The quickest allowed cost for many hashes at once: their memory stays in the processor's caches. */
export const quickest = { PORTCULLIS_PASSWORDS__MEMORY_KIB: '7168', PORTCULLIS_PASSWORDS__TIME_COST: '5' }
