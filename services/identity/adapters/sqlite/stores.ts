import type { Stores } from '#services/identity/ports/stores.ts'
import type { Clock } from '#shared/clock.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { MemoryExchangeCounts } from '../exchange-counts.ts'
import { SQLITE } from '../schema.ts'
import { SqliteAuditLog } from './audit-log.ts'
import { SqliteFederationStore } from './federation-store.ts'
import { SqliteIdentityStore } from './identity-store.ts'
import { SqliteOrganizationStore } from './organization-store.ts'
import { SqliteSigningKeys } from './signing-keys.ts'

/**
 * Opens the stores in a SQLite file that several processes may have open: the key command writes to it beside a running
 * server.
 */
export function openSqliteStores(path: string, clock: Clock): Stores {
  const file = new SqliteFile(path, { schema: SQLITE, exclusive: false })
  const federation = new SqliteFederationStore(file)
  return {
    probe: () => file.probe(),
    identity: new SqliteIdentityStore(file),
    organizations: new SqliteOrganizationStore(file),
    federation,
    issuerHealth: federation,
    auditLog: new SqliteAuditLog(file, clock),
    signingKeys: new SqliteSigningKeys(file),
    // Only one of the processes that have it open serves requests.
    exchangeCounts: new MemoryExchangeCounts(),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  }
}
