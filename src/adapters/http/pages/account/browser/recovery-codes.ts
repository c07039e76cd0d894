import { element, say, texts } from './page.ts'
import { saveFile } from './save-file.ts'

/** The recovery codes, with the ways to keep them. */
export function codeList(codes: readonly string[]): readonly HTMLElement[] {
  const list = element('ul', { class: 'codes' }, ...codes.map((code) => element('li', {}, element('code', {}, code))))
  const asText = `${document.title}\n${location.host}\n\n${codes.join('\n')}\n`
  const act = (text: string, keep: () => void): HTMLElement => {
    const button = element('button', { type: 'button', class: 'quiet' }, text)
    button.addEventListener('click', keep)
    return button
  }
  const copy = (): void => {
    navigator.clipboard.writeText(codes.join('\n')).then(
      () => say(texts.codesCopied),
      () => say(texts.codesNotCopied, 'bad'),
    )
  }
  const ways = [
    // Browsers copy by script on pages with TLS alone, and on loopback.
    ...(isSecureContext ? [act(texts.copyCodes, copy)] : []),
    act(texts.saveCodes, () => saveFile('recovery-codes.txt', 'text/plain', asText)),
    act(texts.printCodes, () => print()),
  ]
  return [list, element('div', { class: 'ways' }, ...ways)]
}
