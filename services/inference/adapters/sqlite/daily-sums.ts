import type { Activity } from '#gen/portico/inference/v1/usage_service_pb.js'
import { dayOf } from '#services/inference/domain/ledger/account.ts'
import type { ActivityQuery } from '#services/inference/ports/ledger.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto } from '#shared/stores/sqlite-table.ts'
import type { RowOf } from '#shared/stores/table.ts'
import { type ClosedRow, COUNTED, type Counted, dailySums } from '../tables/ledger.ts'
import { SUMMED, type SumRow, toActivity } from './activity-rows.ts'

const addSums = insertInto(dailySums, {
  end: `ON CONFLICT DO UPDATE SET ${SUMMED.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
})
const READ = `SELECT providerId, modelId, NULL AS value, ${SUMMED.map((name) => `sum(${name}) AS ${name}`).join(', ')}
  FROM dailySums WHERE workspaceId = ? AND day = ? AND (? IS NULL OR apiKeyId = ?)
  GROUP BY providerId, modelId HAVING sum(requests) > 0 ORDER BY providerId, modelId`

/** The rows that are summed together, but for their day. */
interface Place {
  readonly workspaceId: string
  readonly apiKeyId: string
  readonly providerId: string
  readonly modelId: string
}

type Sum = { -readonly [N in 'requests' | Counted]: RowOf<typeof dailySums.columns>[N] }

/**
 * The sums of finished rows by UTC day of their end, key, provider and model. What the jobs of a transaction add is
 * written once, before its commit.
 */
export class DailySums {
  readonly #file: () => SqliteFile
  readonly #added = new Map<string, Place & { readonly day: number } & Sum>()

  constructor(file: () => SqliteFile) {
    this.#file = file
  }

  /** Adds a closed row, or subtracts one that is closed again; one of the last things that a job does. */
  add({ workspaceId, apiKeyId, providerId, modelId }: Place, row: ClosedRow, sign: 1 | -1 = 1): void {
    const day = dayOf(row.finishTime ?? 0)
    const name = `${workspaceId}\n${day}\n${apiKeyId}\n${providerId}\n${modelId}`
    let sum = this.#added.get(name)
    if (sum === undefined) {
      const counts = Object.fromEntries(COUNTED.map((each) => [each, 0n])) as Record<Counted, bigint>
      sum = { workspaceId, day, apiKeyId, providerId, modelId, requests: 0, ...counts }
      this.#added.set(name, sum)
    }
    sum.requests += sign
    for (const each of COUNTED) sum[each] += BigInt(sign) * (row[each] ?? 0n)
  }

  write(): void {
    addSums(this.#file(), [...this.#added.values()])
    this.#added.clear()
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.#added.clear()
  }

  /** The sums of a day, whatever the metadata of its rows. */
  read({ workspaceId, day, keyId }: ActivityQuery): Activity[] {
    const key = keyId ?? null
    const statement = this.#file().statement(READ)
    statement.setReadBigInts(true)
    const rows: unknown[] = statement.all(workspaceId, day, key, key)
    return rows.map((row) => toActivity(row as SumRow, day))
  }
}
