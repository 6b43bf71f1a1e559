import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { digestOf } from './schema-step.ts'
import type { SqliteFile } from './sqlite.ts'
import type { SqliteSchema, SqliteStep } from './sqlite-schema.ts'
import type { Columns, RowOf, Stored, Table } from './table.ts'

/** A row of a table in SQLite: some columns are only there, or have others in their place. */
export type SqliteRow<C extends Columns, O extends Columns> = Omit<RowOf<C>, keyof O> & RowOf<O>

/** The schema of a file with some tables; `more`: statements that follow them. */
export function sqliteSchema(
  tables: readonly Table[],
  more: readonly string[] = [],
  steps: readonly SqliteStep[] = [],
): SqliteSchema {
  const create = [...tables.flatMap(createTable), ...more]
  const forms = tables.flatMap(({ columns, sqlite }) => {
    return Object.values({ ...columns, ...sqlite?.columns }).map(({ form }) => form)
  })
  return { create, digest: digestOf([create, forms]), steps }
}

function createTable({ name, columns, sqlite }: Table): string[] {
  if (sqlite === undefined) return []
  const { primaryKey, withoutRowid, constraints = [], indexes = {}, uniqueIndexes = {} } = sqlite
  const lines = Object.entries({ ...columns, ...sqlite.columns }).map(
    ([column, { type, isNullable }]) => `${column} ${type}${isNullable ? '' : ' NOT NULL'}`,
  )
  if (primaryKey !== undefined) lines.push(`PRIMARY KEY (${primaryKey.join(', ')})`)
  return [
    `CREATE TABLE ${name} (${[...lines, ...constraints].join(', ')}) STRICT${withoutRowid ? ', WITHOUT ROWID' : ''}`,
    ...Object.entries(indexes).map(([index, on]) => `CREATE INDEX ${index} ON ${name} ${on}`),
    ...Object.entries(uniqueIndexes).map(([index, on]) => `CREATE UNIQUE INDEX ${index} ON ${name} ${on}`),
  ]
}

/** The list of columns in a SELECT; `from`: the table, where another one has columns of the same name. */
export function columnList(columns: Columns, from = ''): string {
  const prefix = from === '' ? '' : `${from}.`
  const read = ([name, { isLong }]: [string, Columns[string]]): string => {
    const column = `${prefix}${name}`
    return isLong ? `iif(octet_length(${column}) > 65536, CAST(${column} AS BLOB), ${column}) AS ${name}` : column
  }
  return Object.entries(columns).map(read).join(', ')
}

/**
 * Reads rows; `rest` follows the columns. They are read as arrays, since members of the objects that node:sqlite
 * makes are slow to read.
 */
export function selectAll<C extends Columns>(
  file: SqliteFile,
  columns: C,
  rest: string,
  ...values: readonly SQLInputValue[]
): RowOf<C>[] {
  const rows: readonly unknown[] = statementOf(file, columns, rest).all(...values)
  return rows.map((row) => rowOf(columns, row))
}

/** The first of them. */
export function selectOne<C extends Columns>(
  file: SqliteFile,
  columns: C,
  rest: string,
  ...values: readonly SQLInputValue[]
): RowOf<C> | undefined {
  const row: unknown = statementOf(file, columns, rest).get(...values)
  return row === undefined ? undefined : rowOf(columns, row)
}

/** The same rows as of `selectAll`, one after the other. */
export function* selectEach<C extends Columns>(
  file: SqliteFile,
  columns: C,
  rest: string,
  ...values: readonly SQLInputValue[]
): Generator<RowOf<C>> {
  for (const row of statementOf(file, columns, rest).iterate(...values)) yield rowOf(columns, row)
}

function statementOf(file: SqliteFile, columns: Columns, rest: string): StatementSync {
  const statement = file.rows(`SELECT ${columnList(columns)} ${rest}`)
  if (Object.values(columns).some(({ isWide }) => isWide)) statement.setReadBigInts(true)
  return statement
}

function rowOf<C extends Columns>(columns: C, values: unknown): RowOf<C> {
  const row: Record<string, Stored | undefined> = {}
  let at = 0
  for (const name of Object.keys(columns)) {
    const value = (values as readonly Stored[])[at++]
    const { isLong, isWide } = columns[name] as Columns[string]
    if (isLong && value instanceof Uint8Array) row[name] = textOf(value)
    else row[name] = typeof value === 'bigint' && !isWide ? Number(value) : value
  }
  return row as RowOf<C>
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** So many rows share a statement at most: each number of rows has a statement of its own, which is kept. */
const MOST_ROWS = 16

/** A function that inserts rows, to be called in a job. `or`: what happens with a row whose key exists. */
export function insertInto<C extends Columns, O extends Columns>(
  { name, columns, sqlite }: Pick<Table<C, O>, 'name' | 'columns' | 'sqlite'>,
  { or, end = '' }: { readonly or?: 'IGNORE' | 'REPLACE'; readonly end?: string } = {},
) {
  const names = Object.keys({ ...columns, ...sqlite?.columns })
  const row = `(${names.map(() => '?').join(', ')})`
  const sql = Array.from({ length: MOST_ROWS }, (_, more) => {
    return `INSERT ${or === undefined ? '' : `OR ${or} `}INTO ${name} (${names.join(', ')}) VALUES ${row}${`, ${row}`.repeat(more)} ${end}`
  })
  return (file: SqliteFile, rows: readonly SqliteRow<C, O>[]): void => {
    for (let from = 0; from < rows.length; from += MOST_ROWS) {
      const some = rows.slice(from, from + MOST_ROWS) as readonly Readonly<Record<string, SQLInputValue>>[]
      const values = some.flatMap((fields) => names.map((column) => fields[column] as SQLInputValue))
      file.statement(sql[some.length - 1] as string).run(...values)
    }
  }
}

/** Changes some fields of the rows of a table; `where` follows. To be called in a job. */
export function updateRows<C extends Columns, O extends Columns>(
  file: SqliteFile,
  { name }: Pick<Table<C, O>, 'name' | 'columns' | 'sqlite'>,
  changes: Partial<NoInfer<SqliteRow<C, O>>>,
  where: string,
  ...values: readonly SQLInputValue[]
): void {
  const names = Object.keys(changes)
  if (names.length === 0) return
  const sql = `UPDATE ${name} SET ${names.join(' = ?, ')} = ? ${where}`
  file.statement(sql).run(...(Object.values(changes) as SQLInputValue[]), ...values)
}
