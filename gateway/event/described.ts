import type { JsonOf } from '../kinds.ts'
import type { event } from './schemas.ts'

/** An event as clients get it. */
export type EventJson = JsonOf<typeof event>
type Shape<E> = E extends { readonly type: infer T; readonly data: infer D extends { readonly sessionID: string } }
  ? readonly [type: T, data: Omit<D, 'sessionID'>]
  : never

/** Type of an event, and its data beside `sessionID`. */
export type Described = Shape<EventJson>
