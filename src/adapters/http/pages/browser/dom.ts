/** An element with attributes. Text is inserted as text, never as markup. */
export function element(name: string, attributes: Readonly<Record<string, string>>, ...content: (Node | string)[]) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...content)
  return made
}

/** A text, such as an address, that a narrow page breaks before its `@`. */
export function breakable(text: string): (Node | string)[] {
  const at = text.lastIndexOf('@')
  return at === -1 ? [text] : [text.slice(0, at), element('wbr', {}), text.slice(at)]
}

/** The text with a value in each of its places, such as `{email}`. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
}
