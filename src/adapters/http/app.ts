import Koa from 'koa'
import { type AnsweringNeeds, answering } from './answering.ts'
import type { Handle } from './serving.ts'

export interface AppNeeds extends AnsweringNeeds {
  /** Answers every request. */
  readonly handle: Handle
}

/** The outermost file of a request. */
export function app({ handle, ...needs }: AppNeeds): Koa {
  const koa = new Koa()
  koa.silent = true // every fault is logged where it is answered, once
  const answer = answering(needs)
  koa.use((ctx, next) => answer(ctx, () => handle(ctx, next)))
  return koa
}
