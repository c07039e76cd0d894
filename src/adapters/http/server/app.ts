import Koa, { type Context } from 'koa'
import { type AnsweringNeeds, answering } from './answer.ts'

interface Needs extends AnsweringNeeds {
  /** Answers every request. */
  readonly serve: (ctx: Context) => Promise<void>
}

/** The service's own app. Apps of others never load Koa from here. */
export function app({ serve, ...needs }: Needs): Koa {
  const koa = new Koa()
  koa.silent = true // every fault is logged where it is answered, once
  const answer = answering(needs)
  koa.use((ctx) => answer(ctx, () => serve(ctx)))
  return koa
}
