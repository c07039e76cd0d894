import { isLong } from './long.ts'

/** Prints what a long run has measured, for whoever writes it down. */
export function figure(what: string, values: Readonly<Record<string, number>>): void {
  if (!isLong) return
  const words = Object.entries(values).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`)
  console.log(`        ${what}: ${words.join(', ')}`)
}
