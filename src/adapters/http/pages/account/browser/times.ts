import { dateText } from '../../../../../lib/date-text.ts'
import { filled, texts } from './page.ts'

const language = document.documentElement.lang
const inDays = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })

/** The date and time of a record. */
export const dateOf = (text: string): string => dateText(new Date(text), language)

/** A day without a time, such as `12 Dec 1990`. */
export function dayOf(day: string): string {
  const locale = language === 'en' ? 'en-GB' : language
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(day))
}

/** How long ago that was: "2 h ago", "yesterday"; after a month the date; `null` for less than a minute. */
export function ago(text: string): string | null {
  const minutes = Math.floor((Date.now() - Date.parse(text)) / 60_000)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (minutes < 1) return null
  if (hours < 1) return filled(texts.ago, { time: `${minutes} min` })
  if (days < 1) return filled(texts.ago, { time: `${hours} h` })
  return days <= 30 ? inDays.format(-days, 'day') : dateOf(text)
}
