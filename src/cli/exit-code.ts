/** 0: done. 1: refused or failed. 2: wrong settings or arguments. */
export type ExitCode = 0 | 1 | 2
