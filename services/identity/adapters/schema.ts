import { mongoSchema } from '#shared/stores/mongo-table.ts'
import { digestOf } from '#shared/stores/schema-step.ts'
import { sqliteSchema } from '#shared/stores/sqlite-table.ts'
import { INDEXES } from './mongo/schema.ts'
import { FEDERATION } from './sqlite/federation-tables.ts'
import { apiKeys, deletedKeys } from './tables/api-keys.ts'
import { auditPositions, changeLocks, deployment, organizations, workspaces } from './tables/organizations.ts'
import { signingKeys } from './tables/signing-keys.ts'

const TABLES = [organizations, workspaces, deployment, auditPositions, changeLocks, apiKeys, deletedKeys, signingKeys]

/** The schema of `identity.sqlite`. */
export const SQLITE = sqliteSchema(TABLES, FEDERATION)

/** The schema of what the identity service has in MongoDB. */
const tables = mongoSchema('identity', TABLES, { prefix: 'identity.' })
export const MONGO = {
  ...tables,
  indexes: { ...tables.indexes, ...INDEXES },
  digest: digestOf([tables.digest, INDEXES]),
}
