/**
 * The style of dates in pages and mail, such as `27 Nov 2026, 14:05` or `27.11.2026, 14:05`.
 *
 * @param language a language tag (BCP 47)
 * @param timeZone the default is that of this machine
 */
export function dateText(at: Date, language: string, timeZone?: 'UTC'): string {
  const locale = language === 'en' ? 'en-GB' : language // otherwise the order and the clock would be those of the US
  const text = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(at)
  return timeZone === undefined ? text : `${text} ${timeZone}`
}
