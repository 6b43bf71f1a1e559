import type { SQLInputValue } from 'node:sqlite'
import { dayOf } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery, ActivitySum } from '#services/inference/ports/ledger.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { sumOf } from './activity-rows.ts'

const COUNTS = ['requests', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens']
const NAMES = [...COUNTS, 'reasoning_tokens', 'cost_nanos'] as const
const ADD = `INSERT INTO daily_sums VALUES (?, ?, ?, ?, ?${', ?'.repeat(NAMES.length)})
  ON CONFLICT DO UPDATE SET ${NAMES.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`
const READ = `SELECT provider_id, model_id, NULL AS value, ${NAMES.map((name) => `sum(${name}) AS ${name}`).join(', ')}
  FROM daily_sums WHERE workspace = ? AND day = ? AND (? IS NULL OR api_key_id = ?)
  GROUP BY provider_id, model_id HAVING sum(requests) > 0 ORDER BY provider_id, model_id`

type Row = Readonly<Record<string, unknown>>

interface Added {
  readonly place: readonly SQLInputValue[]
  /** As in NAMES. */
  readonly counts: bigint[]
}

/**
 * The sums of rows that have ended, by the UTC day on which they did, key, provider and model. What the jobs of a transaction add is written
 * once, before its commit.
 */
export class DailySums {
  readonly #file: () => SqliteFile
  readonly #added = new Map<string, Added>()

  constructor(file: () => SqliteFile) {
    this.#file = file
  }

  /** Adds a row that is closed, or takes it away (-1), as the last thing that a job does. */
  add(row: Row, times: 1 | -1 = 1): void {
    const place = [row.workspace, dayOf(Number(row.finished_at)), row.api_key_id, row.provider_id, row.model_id]
    const name = JSON.stringify(place)
    let added = this.#added.get(name)
    if (added === undefined) {
      added = { place: place as Added['place'], counts: NAMES.map(() => 0n) }
      this.#added.set(name, added)
    }
    for (const [i, name] of NAMES.entries()) {
      const count = name === 'requests' ? 1n : ((row[name] as bigint | null) ?? 0n)
      added.counts[i] = (added.counts[i] ?? 0n) + BigInt(times) * count
    }
  }

  /** Writes what was added. */
  write(): void {
    if (this.#added.size === 0) return
    const add = this.#file().statement(ADD)
    for (const { place, counts } of this.#added.values()) add.run(...place, ...counts)
    this.#added.clear()
  }

  /** A transaction was undone. */
  forget(): void {
    this.#added.clear()
  }

  /** The sums of a day, whatever the metadata of its rows. */
  read({ workspace, day, keyId }: ActivityQuery): ActivitySum[] {
    const key = keyId ?? null
    const statement = this.#file().statement(READ)
    statement.setReadBigInts(true)
    return (statement.all(workspace, day, key, key) as Row[]).map(sumOf)
  }
}
