import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { IndexDescription } from 'mongodb'
import { formOf, fromStoredJson, type JsonForm, toStoredJson } from './message-json.ts'

/** What a field of a row contains, in both kinds of store. */
export type Stored = string | number | bigint | Uint8Array | null

/** A column, and the way of a record's member to a field of a row and back. */
export interface Column<V = unknown, S extends Stored = Stored> {
  readonly type: 'TEXT' | 'INTEGER' | 'BLOB'
  readonly isNullable?: true
  /** Long texts are read as bytes from SQLite, since node:sqlite takes ten times as long to make a string of one. */
  readonly isLong?: true
  /** Integers of 64 bits are read as bigints from SQLite. */
  readonly isWide?: true
  /** Of JSON in the column, so that a store with another form of it has another digest. */
  readonly form?: JsonForm | string
  encode(value: V): S
  decode(stored: S): V
}

/** In a document of MongoDB: another one, or a list of such. `D` is what is stored. */
export interface Nested<D = unknown> {
  readonly type: 'DOCUMENT' | 'DOCUMENTS'
  readonly columns: Columns
  /** Of the type alone; no description has it. */
  readonly stored?: D
}

/** Columns by their names, which the members of a record have, too. */
export type Columns = Readonly<Record<string, Column>>

/** Those of a collection of MongoDB. */
export type MongoColumns = Readonly<Record<string, Column | Nested>>

type ValueOf<C> = C extends Column<infer V, infer _> ? V : never

/** What is stored in such columns, as code uses it. */
export type RecordOf<C extends Columns> = { readonly [N in keyof C]: ValueOf<C[N]> }

/** The same to be stored, where undefined members may be missing, as in a message. */
type RecordInit<C extends Columns> = {
  readonly [N in keyof C as undefined extends ValueOf<C[N]> ? never : N]: ValueOf<C[N]>
} & Partial<RecordOf<C>>

/** What is stored in such columns, as it is stored: a row of SQLite, and a document of MongoDB without its key. */
export type RowOf<C extends MongoColumns> = {
  readonly [N in keyof C]: C[N] extends Column<infer _, infer S> ? S : C[N] extends Nested<infer D> ? D : never
}

/**
 * A table of SQLite, a collection of MongoDB, or both: the one place that lists its columns and indexes. Statements,
 * documents and projections are made from it (`sqlite-table.ts`, `mongo-table.ts`), and so is the digest by which a
 * store of another form is refused.
 */
export interface Table<
  C extends Columns = Columns,
  O extends Columns = Columns,
  M extends MongoColumns = MongoColumns,
> {
  readonly name: string
  readonly columns: C
  /** Undefined: there is no such table in SQLite. */
  readonly sqlite?: {
    /** Columns that are only there, or in place of those with the same name. */
    readonly columns?: O
    readonly primaryKey?: readonly string[]
    readonly withoutRowid?: true
    /** In the words of SQL, such as `UNIQUE (a, b)`. */
    readonly constraints?: readonly string[]
    /** By name: columns and condition in the words of SQL. */
    readonly indexes?: Readonly<Record<string, string>>
    readonly uniqueIndexes?: Readonly<Record<string, string>>
  }
  /** Undefined: there is no such collection in MongoDB. */
  readonly mongo?: {
    /** Columns that are only there, or in place of those with the same name. */
    readonly columns?: M
    readonly indexes: readonly IndexDescription[]
  }
}

/** No columns. */
type None = Record<never, never>

/** Infers the types of a table. */
export function defineTable<
  const C extends Columns,
  const O extends Columns = None,
  const M extends MongoColumns = None,
>(table: Table<C, O, M>): Table<C, O, M> {
  return table
}

/** A text, or one of some words; never the JSON of a message, whose form would be unknown to the digest. */
export function text<V extends string = string>(): Column<V, V> {
  return { type: 'TEXT', encode: same, decode: same }
}

/** A safe integer, such as a time in milliseconds. */
export function integer<V extends number = number>(): Column<V, V> {
  return { type: 'INTEGER', encode: same, decode: same }
}

/** An integer of 64 bits, such as money that the store sums. MongoDB has to be read with `useBigInt64`. */
export function wide(): Column<bigint, bigint> {
  return { type: 'INTEGER', isWide: true, encode: same, decode: BigInt }
}

export function bytes(): Column<Uint8Array, Uint8Array> {
  return { type: 'BLOB', encode: same, decode: same }
}

/** 0 or 1. */
export function flag(): Column<boolean, 0 | 1> {
  return { type: 'INTEGER', encode: (value) => (value ? 1 : 0), decode: (stored) => stored === 1 }
}

/** An integer of any size, such as money, as decimal digits. */
export function decimal(): Column<bigint, string> {
  return { type: 'TEXT', encode: String, decode: BigInt }
}

/**
 * Plain JSON as text: no messages and no bigints. `form`: its members, as part of the digest, since no schema describes
 * them; it has to change with their type.
 */
export function json<V>(form: string): Column<V, string> {
  return { type: 'TEXT', form, encode: (value) => JSON.stringify(value), decode: (stored) => JSON.parse(stored) as V }
}

/** A message as the text of its JSON. */
export function message<D extends DescMessage>(schema: D): Column<MessageShape<D>, string> {
  return {
    type: 'TEXT',
    form: formOf(schema),
    encode: (value) => JSON.stringify(toStoredJson(schema, value)),
    decode: (stored) => fromStoredJson(schema, JSON.parse(stored)),
  }
}

/** Null where the member is undefined. */
export function optional<V, S extends Stored>(column: Column<V, S>): Column<V | undefined, S | null> {
  return {
    ...column,
    isNullable: true,
    encode: (value) => (value === undefined ? null : column.encode(value)),
    // A document may not have the field.
    decode: (stored) => ((stored ?? null) === null ? undefined : column.decode(stored as S)),
  }
}

/** A text that may be longer than 64 KiB. */
export function long<V>(column: Column<V, string>): Column<V, string> {
  return { ...column, isLong: true }
}

/** A document in a document. The columns describe its members, for the digest, and convert nothing. */
export function document<D>(columns: { readonly [N in keyof NonNullable<D>]-?: Column }): Nested<D> {
  return { type: 'DOCUMENT', columns }
}

/** A list of such documents. */
export function documents<D>(columns: { readonly [N in keyof D]-?: Column }): Nested<readonly D[]> {
  return { type: 'DOCUMENTS', columns }
}

/** The fields of a record. */
export function toRow<C extends Columns>(columns: C, record: RecordInit<C>): RowOf<C> {
  return encoded(columns, Object.keys(columns), record)
}

/** The fields of those members that a change has. */
export function toChanges<C extends Columns>(columns: C, changes: Partial<RecordOf<C>>): Partial<RowOf<C>> {
  return encoded(columns, Object.keys(changes), changes)
}

/** The record in the fields of a row. */
export function fromRow<C extends Columns>(columns: C, row: RowOf<C>): RecordOf<C> {
  const record: Record<string, unknown> = {}
  for (const name of Object.keys(columns)) record[name] = columns[name]?.decode(row[name] as Stored)
  return record as RecordOf<C>
}

function encoded<R>(columns: Columns, names: readonly string[], record: Readonly<Record<string, unknown>>): R {
  const row: Record<string, Stored | undefined> = {}
  for (const name of names) row[name] = columns[name]?.encode(record[name])
  return row as R
}

function same<T>(value: T): T {
  return value
}
