import type { Thrown } from '../handler-failure.ts'
import type { HandlerName } from '../handler-names.ts'

/** Messages between the service and the handler thread. */

export interface ThreadData {
  readonly url: string
}

export interface ToThread {
  readonly id: number
  readonly name: HandlerName
  readonly args: readonly unknown[]
}

export interface Loaded {
  readonly type: 'loaded'
  readonly names: readonly HandlerName[]
  /** Exports that look like handlers but are none. */
  readonly unknown: readonly string[]
}

export type CallMessage =
  | { readonly type: 'begun'; readonly id: number }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'threw'; readonly id: number; readonly thrown: Thrown }

export type FromThread = Loaded | { readonly type: 'not_loaded'; readonly reason: string } | CallMessage
