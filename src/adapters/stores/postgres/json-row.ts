/**
 * The columns as one value, `found`. The driver reads the description of each column at every query, which takes longer
 * than the query itself for wide rows.
 */
export const jsonRow = (columns: readonly string[]): string => `json_build_array(${columns.join(', ')}) AS found`

/** A time as an integer, which `dateOf` reads. A database or a role can round floating-point numbers (`extra_float_digits`). */
export const epoch = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::bigint`

export const dateOf = (milliseconds: number): Date => new Date(milliseconds)
