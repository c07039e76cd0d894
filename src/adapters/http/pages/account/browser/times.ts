import { dateText } from '../../../../../lib/date-text.ts'
import { filled, texts } from './page.ts'

const language = document.documentElement.lang
const inDays = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })

/** The date and time of a record. */
export const dateOf = (text: string): string => dateText(new Date(text), language)

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
