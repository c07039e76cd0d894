import type { TenantTexts } from '../ports/stores/tenant-texts.ts'

/** The name of the text with the progress. */
export const rotationName = 'secret-rotation'

/** The progress of a change of the secret, beside the users. Both secrets are their marks. */
export interface RotationProgress {
  readonly to: string
  readonly from: string
  /** The cursor behind the last user. */
  readonly after: string | null
  readonly users: number
  readonly resealed: number
  /** When everything was sealed anew, in ISO 8601; `null` until then. */
  readonly doneAt: string | null
}

/** The secrets of a tenant, by their marks. */
export interface SecretMarks {
  /** Of the secret that signs and seals. */
  readonly mark: string
  /** Of the secrets that only open, in the order of the settings. */
  readonly former: readonly string[]
}

/** A change of the secret, as the store of the users has it. */
export interface Rotation {
  /** The mark to which the users are bound. */
  readonly bound: string | null
  /** The stored text of the progress. */
  readonly text: string | null
  readonly progress: RotationProgress | null
  /** The change to the present secret, if the former one is still given. */
  readonly current: RotationProgress | null
}

export async function readRotation(texts: TenantTexts, { mark, former }: SecretMarks): Promise<Rotation> {
  const bound = await texts.read('secret')
  const text = await texts.read(rotationName)
  const progress: RotationProgress | null = text === null ? null : JSON.parse(text) // safe: `ResealEverything` writes it
  const isCurrent = progress?.to === mark && former.includes(progress.from)
  return { bound, text, progress, current: isCurrent ? progress : null }
}

/**
 * The next step. `'add'`, `'makeFirst'` and `'drop'` are for the file in the data folder; where the secret is a setting, the
 * operator does these, and `'advice'` names the setting.
 */
export type RotationStep = 'add' | 'makeFirst' | 'reseal' | 'wait' | 'drop' | 'advice'

/** @param place.formerUntil the end of the last credential that the former secret may have signed; `null` if that is not known yet */
export function rotationStep(
  { bound, current }: Rotation,
  { mark, former }: SecretMarks,
  place: { readonly isFile: boolean; readonly formerUntil: Date | null; readonly now: Date },
): RotationStep {
  const { isFile, formerUntil, now } = place
  if (bound !== mark) return 'reseal'
  if (former.length === 0) return isFile ? 'add' : 'advice'
  if (current === null) return isFile ? 'makeFirst' : 'advice'
  if (formerUntil === null) return 'reseal'
  return isFile && formerUntil <= now ? 'drop' : 'wait'
}
