import { mongoSchema } from '#shared/stores/mongo-table.ts'
import { sqliteSchema } from '#shared/stores/sqlite-table.ts'
import { apiKeys, deletedKeys } from './tables/api-keys.ts'
import { AUDIT_RULES, audit, auditRetention, exchangeCounts, replayClaims } from './tables/audit.ts'
import { deletedPolicies, issuers, policies } from './tables/federation.ts'
import { auditPositions, changeLocks, deployment, organizations, workspaces } from './tables/organizations.ts'
import { signingKeys } from './tables/signing-keys.ts'

const TABLES = [
  ...[organizations, workspaces, deployment, auditPositions, changeLocks, apiKeys, deletedKeys, signingKeys],
  ...[issuers, policies, deletedPolicies, audit, auditRetention, replayClaims, exchangeCounts],
]

export const SQLITE = sqliteSchema(TABLES, AUDIT_RULES)

export const MONGO = mongoSchema('identity', TABLES, { prefix: 'identity.' })
