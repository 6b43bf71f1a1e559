import type { SQLInputValue } from 'node:sqlite'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** So many rows share a statement at most: each number of rows has a statement of its own, which is kept. */
const MOST_ROWS = 16

/** A function that inserts rows of so many columns, to be called in a job; `end` is what its statements end with. */
export function insertOf(into: string, columns: number, end = '') {
  const row = `(${values(columns)})`
  const sql = Array.from({ length: MOST_ROWS }, (_, more) => {
    return `INSERT INTO ${into} VALUES ${row}${`, ${row}`.repeat(more)} ${end}`
  })
  return (file: SqliteFile, rows: readonly (readonly SQLInputValue[])[]): void => {
    for (let from = 0; from < rows.length; from += MOST_ROWS) {
      const some = rows.slice(from, from + MOST_ROWS)
      file.statement(sql[some.length - 1] as string).run(...some.flat())
    }
  }
}

/** The places of so many values. */
export function values(count: number): string {
  return Array(count).fill('?').join(', ')
}
