import { isLong } from '../mocha/long.ts'

/** Prints the measurements of a long run. */
export function figure(what: string, values: Readonly<Record<string, number>>): void {
  if (!isLong) return
  const words = Object.entries(values).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`)
  console.log(`        ${what}: ${words.join(', ')}`)
}
