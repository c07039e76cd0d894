/** The text as a QR code: an SVG without scripts and styles, dark on light, with its quiet zone. */
export async function qrCode(text: string): Promise<string> {
  const { renderSVG } = await import('uqr') // loaded on demand, because few deployments need it
  return renderSVG(text, { ecc: 'M', border: 4 })
}
