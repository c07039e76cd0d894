const form =
  /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Whether a text is a time with its zone (RFC 3339 `date-time`). `Date` also takes 24:00:00, and other offsets. */
export function isTime(text: string): boolean {
  const [, day = ''] = form.exec(text) ?? []
  return isDay(day) && !Number.isNaN(Date.parse(text))
}

/** Whether a text is a day (RFC 3339 `full-date`). `Date` takes 30 February for 2 March. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const midnight = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text)
}
