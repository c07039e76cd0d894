import Koa from 'koa'
import type { Handle } from '../pipeline/route-table.ts'
import { type AnsweringNeeds, answering } from './answer.ts'

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
