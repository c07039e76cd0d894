/** Black or white text on a colour such as `#245a8d`, whichever has the higher contrast (WCAG 2.2, 1.4.3). */
export function textOn(color: string): '#000000' | '#ffffff' {
  return luminance(color) > 0.179 ? '#000000' : '#ffffff'
}

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(color.slice(start, start + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
