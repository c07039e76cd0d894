/** Whether a text is a time with its zone (RFC 3339 `date-time`). A 30th of February is another day to `Date`, so the day is compared. */
export function isTime(text: string): boolean {
  const [day] = /^\d{4}-\d{2}-\d{2}(?=[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$)/.exec(text) ?? []
  const midnight = Date.parse(`${day}T00:00:00Z`)
  return (
    !Number.isNaN(Date.parse(text)) && !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(`${day}`)
  )
}
