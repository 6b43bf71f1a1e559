import type { z } from 'zod'
import type { PublicError } from './errors/error-table.ts'
import type { EventSource } from './http/sse.ts'

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** The JSON that a mapper returns for a schema. */
export type JsonOf<S> = S extends z.ZodType ? DeepReadonly<z.input<S>> : never

/** Members that arrive as text: parameters of the path or the query, and headers. */
export type Members = z.ZodObject<Record<string, z.ZodType>>

/** If the parameter `name` is given, all parameters other than those in `beside` are ignored. */
export interface Cursor {
  readonly name: string
  readonly beside: readonly string[]
}

/**
 * A body of `application/x-www-form-urlencoded`: each member once; an empty one counts as left out where its schema
 * refuses ''.
 */
export interface FormBody<S extends Members = Members> {
  readonly kind: 'form'
  readonly schema: S
}

/** A JSON body that is handed over as bytes, since it is too long to be parsed in this thread. */
export interface UnparsedBody {
  readonly kind: 'unparsed'
  readonly schema: z.ZodType
}

/** 204 without a body. */
export interface NoContent {
  readonly kind: 'none'
}

/** JSON whose status depends on its content. */
export interface ByStatus<S extends Readonly<Record<number, z.ZodType>> = Readonly<Record<number, z.ZodType>>> {
  readonly kind: 'by status'
  readonly schemas: S
}

/** Server-sent events; the schema is that of the JSON in their `data`. */
export interface Events {
  readonly kind: 'events'
  readonly schema: z.ZodType
}

/** JSON or server-sent events, depending on the request. */
export interface JsonOrEvents<A extends z.ZodType = z.ZodType> {
  readonly kind: 'json or events'
  readonly json: A
  readonly events: z.ZodType
}

/** JSON that is made piece by piece, since it may be larger than memory. */
export interface PiecesOf<S extends z.ZodType = z.ZodType> {
  readonly kind: 'pieces'
  readonly schema: S
}

/** The kind of answer; a schema means 200 and JSON. */
export type Answer = z.ZodType | NoContent | ByStatus | Events | JsonOrEvents | PiecesOf

export const form = <S extends Members>(schema: S): FormBody<S> => ({ kind: 'form', schema })
export const unparsed = (schema: z.ZodType): UnparsedBody => ({ kind: 'unparsed', schema })
export const noContent: NoContent = { kind: 'none' }
export const byStatus = <S extends ByStatus['schemas']>(schemas: S): ByStatus<S> => ({ kind: 'by status', schemas })
export const piecesOf = <S extends z.ZodType>(schema: S): PiecesOf<S> => ({ kind: 'pieces', schema })
export const events = (schema: z.ZodType): Events => ({ kind: 'events', schema })
export const jsonOrEvents = <A extends z.ZodType>(json: A, streamed: z.ZodType): JsonOrEvents<A> => ({
  kind: 'json or events',
  json,
  events: streamed,
})

/** The parts of a stream. `failed` gets the error as the client may see it; the error has been logged by then. */
export interface StreamParts<T> extends Omit<EventSource<T>, 'failed' | 'lifecycle' | 'heartbeatMs' | 'check'> {
  readonly failed: (error: unknown, answer: PublicError) => string
  /** The service without which the stream ends. */
  readonly service: 'inference' | 'session'
}

/** A stream that a handler returns, whatever its messages are. */
export interface EventAnswer {
  readonly sendBy: (send: <T>(parts: StreamParts<T>) => Promise<void>) => Promise<void>
}

/** Makes the return value of a handler of an operation with `events`. */
export const stream = <T>(parts: StreamParts<T>): EventAnswer => ({ sendBy: (send) => send(parts) })

/** A JSON answer that takes long. Until it is there, the client gets white space, which JSON may begin with. */
export interface WholeAnswer<J = unknown> {
  readonly whole: Promise<J>
  /** The whole body of a failure that comes after white space was sent, with the status 200. */
  readonly late: (error: unknown, answer: PublicError) => unknown
}

/** Makes the return value of a handler whose JSON takes long. */
export const whole = <J>(json: Promise<J>, late: WholeAnswer['late']): WholeAnswer<J> => ({ whole: json, late })
