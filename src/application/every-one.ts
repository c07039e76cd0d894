import type { Page } from './ports/stores/page.ts'

/** Every item of a list that is read page by page. */
export async function* everyOne<T>(
  read: (after: string | null) => Promise<Page<T>>,
  start: string | null = null,
): AsyncGenerator<T> {
  let after = start
  do {
    const { items, next }: Page<T> = await read(after)
    yield* items
    after = next
  } while (after !== null)
}
