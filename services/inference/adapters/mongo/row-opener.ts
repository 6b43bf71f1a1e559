import { type Collection, MongoBulkWriteError } from 'mongodb'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { Row } from './row.ts'

const DUPLICATE_KEY = 11_000
const MAX_ROWS = 1_000
/** While one insert waits for the majority, another may begin. */
const MAX_INSERTS = 2

interface Waiting {
  readonly row: Row
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Inserts rows, those that come while others are under way together. */
export class RowOpener {
  readonly #rows: Collection<Row>
  #waiting: Waiting[] = []
  #inserts = 0

  constructor(rows: Collection<Row>) {
    this.#rows = rows
  }

  /** Resolves once the row is durable. Rejects with REQUEST_DUPLICATE where there is one with its id. */
  open(row: Row): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#begin())
    })
  }

  #begin(): void {
    while (this.#inserts < MAX_INSERTS && this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_ROWS)
      this.#waiting = this.#waiting.slice(MAX_ROWS)
      this.#inserts++
      void this.#insert(batch).finally(() => {
        this.#inserts--
        this.#begin()
      })
    }
  }

  async #insert(batch: readonly Waiting[]): Promise<void> {
    const failures = await this.#rows
      .insertMany(
        batch.map(({ row }) => row),
        { ordered: false, maxTimeMS: MAX_TIME_MS },
      )
      .then(() => undefined, failuresOf)
    for (const [i, { row, resolve, reject }] of batch.entries()) {
      if (failures === undefined) resolve()
      else settle(failures(i), row, resolve, reject)
    }
  }
}

function settle(failure: unknown, { _id }: Row, resolve: () => void, reject: (error: unknown) => void): void {
  if (failure === undefined) resolve()
  else if (failure !== DUPLICATE_KEY) reject(failure)
  else reject(new Rejection('REQUEST_DUPLICATE', { request_id: _id.requestId }))
}

/** What became of each row of a batch: undefined, DUPLICATE_KEY, or the error of the whole batch. */
function failuresOf(error: unknown): (index: number) => unknown {
  // Only where nothing but duplicates went wrong it is certain that the others are durable.
  const duplicates = new Set<number>()
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) return () => error
  for (const { code, index } of [error.writeErrors].flat()) {
    if (code !== DUPLICATE_KEY) return () => error
    duplicates.add(index)
  }
  if (duplicates.size === 0) return () => error
  return (index) => (duplicates.has(index) ? DUPLICATE_KEY : undefined)
}
