import type { Figure } from './measure.ts'

const widths = [72, 26, 46, 18, 10]

/** A Markdown table with aligned columns, so that it is readable in a terminal too. */
export const tableHead = `${row(['what', 'measured', 'beside', 'ratio', 'goal'])}\n${row(widths.map((width) => '-'.repeat(width)))}`

export function tableLine({ what, value, beside = '', ratio = '', goal }: Figure): string {
  return row([what, value, beside, ratio, goal === undefined ? '' : `${goal.text} ${goal.isMet ? 'met' : 'MISSED'}`])
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
}
