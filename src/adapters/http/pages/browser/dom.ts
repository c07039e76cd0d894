/** An element with attributes. Text is inserted as text, never as markup. */
export function element(name: string, attributes: Readonly<Record<string, string>>, ...content: (Node | string)[]) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...content)
  return made
}

/** The text with a value in each of its places, such as `{email}`. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
}
