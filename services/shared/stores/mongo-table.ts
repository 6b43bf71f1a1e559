import type { MongoSchema, MongoStep } from './mongo-schema.ts'
import { digestOf } from './schema-step.ts'
import type { Columns, RowOf, Table } from './table.ts'

/** A document of a table with its key: some columns are only there, or have others in their place. */
export type MongoDocument<T extends Table, K = string> =
  T extends Table<infer C, infer _, infer M> ? Omit<RowOf<C>, keyof M> & RowOf<M> & { readonly _id: K } : never

/** The schema of a service's collections. Before their names comes `prefix`, if there is one. */
export function mongoSchema(
  name: string,
  tables: readonly Table[],
  { prefix = '', steps = [] }: { readonly prefix?: string; readonly steps?: readonly MongoStep[] } = {},
): MongoSchema {
  const collections = tables.flatMap(({ name, columns, mongo }) => {
    return mongo === undefined ? [] : [{ name, columns: { ...columns, ...mongo.columns }, indexes: mongo.indexes }]
  })
  const indexes = collections
    .filter((collection) => collection.indexes.length > 0)
    .map((collection) => [`${prefix}${collection.name}`, collection.indexes])
  return { name, indexes: Object.fromEntries(indexes), digest: digestOf([prefix, collections]), steps }
}

/** The projection that reads some columns. */
export function projectionOf(columns: Columns): Readonly<Record<string, 0 | 1>> {
  return { _id: 0, ...Object.fromEntries(Object.keys(columns).map((name) => [name, 1])) }
}
