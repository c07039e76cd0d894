import Koa, { type Middleware } from 'koa'
import { type AnsweringNeeds, answering } from './answer.ts'

interface Needs extends AnsweringNeeds {
  readonly serve: Middleware
}

/** The Koa app of the service. Host apps load Koa themselves. */
export function app({ serve, ...needs }: Needs): Koa {
  const koa = new Koa()
  koa.silent = true // every fault is logged where it is answered, once
  koa.use(answering(needs))
  return koa.use(serve)
}
