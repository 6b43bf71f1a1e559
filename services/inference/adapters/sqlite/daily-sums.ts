import type { SQLInputValue } from 'node:sqlite'
import { dayOf } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery, ActivitySum } from '#services/inference/ports/ledger.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { sumOf } from './activity-rows.ts'
import { COUNTED } from './ledger-rows.ts'

const NAMES = ['requests', ...COUNTED] as const
const ADD = `INSERT INTO daily_sums VALUES (?, ?, ?, ?, ?${', ?'.repeat(NAMES.length)})
  ON CONFLICT DO UPDATE SET ${NAMES.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`
const READ = `SELECT provider_id, model_id, NULL AS value, ${NAMES.map((name) => `sum(${name}) AS ${name}`).join(', ')}
  FROM daily_sums WHERE workspace = ? AND day = ? AND (? IS NULL OR api_key_id = ?)
  GROUP BY provider_id, model_id HAVING sum(requests) > 0 ORDER BY provider_id, model_id`

type Row = Readonly<Record<string, unknown>>

/** What a closed row counts, and where. */
interface Counted {
  readonly workspace: string
  readonly apiKeyId: string
  readonly providerId: string
  readonly modelId: string
  readonly finishedAt: number
  /** As in COUNTED. */
  readonly counts: readonly bigint[]
}

interface Added {
  readonly place: readonly SQLInputValue[]
  requests: number
  readonly counts: bigint[]
}

/**
 * The sums of finished rows by UTC day of their end, key, provider and model. What the jobs of a transaction add is
 * written once, before its commit.
 */
export class DailySums {
  readonly #file: () => SqliteFile
  readonly #added = new Map<string, Added>()

  constructor(file: () => SqliteFile) {
    this.#file = file
  }

  /** Adds a closed row; one of the last things that a job does. */
  add(row: Counted): void {
    const added = this.#addedAt(row)
    added.requests++
    for (const [i, count] of row.counts.entries()) added.counts[i] = (added.counts[i] ?? 0n) + count
  }

  /** Subtracts a row that is closed again, in the same way. */
  remove(row: Counted): void {
    const added = this.#addedAt(row)
    added.requests--
    for (const [i, count] of row.counts.entries()) added.counts[i] = (added.counts[i] ?? 0n) - count
  }

  #addedAt({ workspace, finishedAt, apiKeyId, providerId, modelId }: Counted): Added {
    const day = dayOf(finishedAt)
    const name = `${workspace}\n${day}\n${apiKeyId}\n${providerId}\n${modelId}`
    let added = this.#added.get(name)
    if (added === undefined) {
      added = { place: [workspace, day, apiKeyId, providerId, modelId], requests: 0, counts: COUNTED.map(() => 0n) }
      this.#added.set(name, added)
    }
    return added
  }

  /** Writes what was added. */
  write(): void {
    if (this.#added.size === 0) return
    const add = this.#file().statement(ADD)
    for (const { place, requests, counts } of this.#added.values()) add.run(...place, requests, ...counts)
    this.#added.clear()
  }

  /** A transaction was rolled back. */
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
