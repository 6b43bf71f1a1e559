import type { Stores } from '#services/identity/ports/stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { MONGO } from '../schema.ts'
import { MongoAuditLog } from './audit-log.ts'
import { collectionsOf } from './documents.ts'
import { MongoExchangeCounts } from './exchange-counts.ts'
import { MongoFederationStore } from './federation-store.ts'
import { MongoIdentityStore } from './identity-store.ts'
import { OrganizationChanges } from './organization-changes.ts'
import { MongoOrganizationStore } from './organization-store.ts'
import { MongoSigningKeys } from './signing-keys.ts'

/**
 * Opens the stores in MongoDB, and creates their schema if there is none. Disposing them leaves the connection open.
 */
export async function openMongoStores(mongo: Mongo): Promise<Stores> {
  await prepareMongoSchema(mongo, MONGO)
  const collections = collectionsOf(mongo.db)
  const changes = new OrganizationChanges(mongo, collections)
  const federation = new MongoFederationStore(changes, collections)
  return {
    probe: () => mongo.probe('identity'),
    identity: new MongoIdentityStore(mongo, changes, collections),
    organizations: new MongoOrganizationStore(mongo, changes, collections),
    federation,
    issuerHealth: federation,
    auditLog: new MongoAuditLog(mongo, collections),
    signingKeys: new MongoSigningKeys(mongo),
    exchangeCounts: new MongoExchangeCounts(mongo.db),
    async [Symbol.asyncDispose]() {},
  }
}
