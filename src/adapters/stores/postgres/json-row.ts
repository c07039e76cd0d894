/**
 * The columns as one value, `found`. The driver reads the description of each column at every query, which takes longer
 * than the query itself for wide rows.
 */
export const jsonRow = (columns: readonly string[]): string => `json_build_array(${columns.join(', ')}) AS found`

/** A time as a number, which `dateOf` reads. */
export const epoch = (column: string): string => `date_part('epoch', ${column})`

/** @param seconds since 1970, exact to the microsecond as a double */
export const dateOf = (seconds: number): Date => new Date(Math.round(seconds * 1000))
