import type { AnswerForms } from '../pipeline/answer-forms.ts'

type Answers = Readonly<Record<string, { readonly content?: object }>>

/** The document of a service whose answers have other forms. */
export function withForms(document: object, { nullBodies, plainReasons, stateCodes }: AnswerForms): object {
  if (!nullBodies && !plainReasons && !stateCodes) return document
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (nullBodies && key === 'responses') return withNull(value)
    if (plainReasons && key === 'required') return value.filter?.((name: string) => name !== 'rule') ?? value
    const isOfStates = stateCodes && key === 'enum' && Array.isArray(value) && value.includes('OAUTH_INVALID_STATE')
    return isOfStates ? [...value, 'ACCESS_TOKEN_DECODE_ERROR', 'ACCESS_TOKEN_ALREADY_EXPIRED'] : value
  })
}

/** FastAPI describes the body `null` as any value. */
function withNull(answers: Answers): Answers {
  const entries = Object.entries(answers).map(([status, answer]) => {
    const isBare = (status === '200' || status === '202') && answer.content === undefined
    return [status, isBare ? { ...answer, content: { 'application/json': { schema: {} } } } : answer]
  })
  return Object.fromEntries(entries)
}
