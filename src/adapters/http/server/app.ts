import Koa, { type Middleware } from 'koa'
import { type AnsweringNeeds, answering } from './answer.ts'

interface Needs extends AnsweringNeeds {
  readonly serve: Middleware
}

/** The service's own app. Apps of others never load Koa from here. */
export function app({ serve, ...needs }: Needs): Koa {
  const koa = new Koa()
  koa.silent = true // every fault is logged where it is answered, once
  koa.use(answering(needs))
  return koa.use(serve)
}
