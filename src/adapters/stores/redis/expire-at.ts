/** `date` for PXAT and PEXPIREAT, which take no number below 1. */
export const expireAt = (date: Date): number => Math.max(1, date.getTime())
