import type { z } from 'zod'
import type { PublicError } from './errors/error-table.ts'
import type { EventSource } from './http/sse.ts'

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** What a mapper makes for a schema. */
export type JsonOf<S> = S extends z.ZodType ? DeepReadonly<z.input<S>> : never

/** Members that come as texts: parameters of the path or the query, and headers. */
export type Members = z.ZodObject<Record<string, z.ZodType>>

/** While the parameter `name` is given, only those of `beside` are looked at. */
export interface Cursor {
  readonly name: string
  readonly beside: readonly string[]
}

/** A body of `application/x-www-form-urlencoded`: each member once; an empty one counts as left out where its schema refuses ''. */
export interface FormBody<S extends Members = Members> {
  readonly kind: 'form'
  readonly schema: S
}

/** A body that is taken as bytes. */
export interface RawBody {
  readonly kind: 'raw'
  readonly contentType: string
}

/** A JSON object that is read as it arrives, since it may be larger than memory: one member is a list that is read item by item. */
export interface ListBody {
  readonly kind: 'list'
  /** The whole, for the document. */
  readonly schema: z.ZodType
  readonly list: string
  /** Of each member, and of the items of the list. */
  readonly members: Readonly<Record<string, z.ZodType>>
  readonly required: readonly string[]
  /** What is said of members that are sent by mistake. */
  readonly hints: Readonly<Record<string, string>>
  /** Texts within an item that are given apart, piece by piece: `files.[].data`. */
  readonly apart: readonly string[]
  /** Called with what was parsed, before it is checked. */
  readonly tidy: (value: unknown) => unknown
}

/** What comes of it, in order: members, items of the list under its name, and before an item the pieces of its texts. */
export type BodyPart =
  | { readonly name: string; readonly value: unknown; readonly size: number }
  | {
      readonly name: string
      readonly path: string
      readonly apart: string
      readonly last: boolean
      /** What stands in the item for the text; called once, after the last piece. */
      readonly replace: (by: string) => void
    }

/** 204 without a body. */
export interface NoContent {
  readonly kind: 'none'
}

/** JSON whose status depends on what it says. */
export interface ByStatus<S extends Readonly<Record<number, z.ZodType>> = Readonly<Record<number, z.ZodType>>> {
  readonly kind: 'by status'
  readonly schemas: S
}

/** Server-sent events; the schema is that of the JSON in their `data`. */
export interface Events {
  readonly kind: 'events'
  readonly schema: z.ZodType
}

/** JSON or server-sent events, as the request wants. */
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

/** What is answered: a schema means 200 and JSON. */
export type Answer = z.ZodType | NoContent | ByStatus | Events | JsonOrEvents | PiecesOf

export const form = <S extends Members>(schema: S): FormBody<S> => ({ kind: 'form', schema })
export const raw = (contentType: string): RawBody => ({ kind: 'raw', contentType })
export const noContent: NoContent = { kind: 'none' }
export const byStatus = <S extends ByStatus['schemas']>(schemas: S): ByStatus<S> => ({ kind: 'by status', schemas })
export const piecesOf = <S extends z.ZodType>(schema: S): PiecesOf<S> => ({ kind: 'pieces', schema })
export const events = (schema: z.ZodType): Events => ({ kind: 'events', schema })
export const jsonOrEvents = <A extends z.ZodType>(json: A, streamed: z.ZodType): JsonOrEvents<A> => ({
  kind: 'json or events',
  json,
  events: streamed,
})

/** What a stream is made from. `failed` gets the error as the client may see it; it is logged already. */
export interface StreamParts<T> extends Omit<EventSource<T>, 'failed' | 'lifecycle' | 'heartbeatMs'> {
  readonly failed: (error: unknown, shown: PublicError) => string
}

/** A stream that a handler returns, whatever its messages are. */
export interface EventAnswer {
  readonly sendBy: (send: <T>(parts: StreamParts<T>) => Promise<void>) => Promise<void>
}

/** Makes what the handler of an operation with `events` returns. */
export const stream = <T>(parts: StreamParts<T>): EventAnswer => ({ sendBy: (send) => send(parts) })

/** A JSON answer that takes its time: meanwhile the client gets white space, which JSON may begin with. */
export interface WholeAnswer<J = unknown> {
  readonly whole: Promise<J>
  /** The whole body of a failure that comes after white space was sent, with the status 200. */
  readonly late: (error: unknown, shown: PublicError) => unknown
}

/** Makes what the handler of an operation returns whose JSON takes its time. */
export const whole = <J>(json: Promise<J>, late: WholeAnswer['late']): WholeAnswer<J> => ({ whole: json, late })
