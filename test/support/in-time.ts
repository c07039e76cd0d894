/**
 * Milliseconds in which an answer has come that is promised within a few seconds. A busy machine takes some more; a promise
 * that is broken takes far longer, or for ever. The long suite and the bench measure the promises themselves.
 */
export const inTime = 15_000
