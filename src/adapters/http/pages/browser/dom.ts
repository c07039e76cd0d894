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

/** An element of the page. Its id is part of our own markup, so its absence is a fault. */
export function byId<Type extends HTMLElement = HTMLElement>(id: string): Type {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found as Type // safe: the markup of the page decides the type
}

/** The value of a deployer's field in words. */
export function shown(value: unknown, words: { readonly yes: string; readonly no: string }): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'boolean') return value ? words.yes : words.no
  return Array.isArray(value) ? value.join(', ') : String(value)
}
