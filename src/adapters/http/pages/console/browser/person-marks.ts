import type { Found } from '../../browser/answers.ts'
import { badge, data, element, texts } from './page.ts'

/** The badges of a person: whatever differs from an active user with a verified address. */
export function badges({ is_active, is_verified, is_superuser }: Found): HTMLElement {
  return element(
    'span',
    { class: 'badges' },
    ...(is_active ? [] : [badge(texts.flags.inactive, 'bad')]),
    ...(is_verified ? [] : [badge(texts.flags.unverified, 'warn')]),
    ...(is_superuser ? [badge(texts.flags.superuser, 'good')] : []),
  )
}

/** For a section with people, such as the owner of a delivery. */
export function linkTo(id: string, email: string | null): HTMLElement {
  return element(
    'a',
    { href: `#/person/${encodeURIComponent(id)}` },
    email === null ? texts.deliveries.person : data(email),
  )
}
