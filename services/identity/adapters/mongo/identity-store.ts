import type { ClientSession } from 'mongodb'
import type { ApiKey } from '#services/identity/domain/api-key.ts'
import type {
  Bootstrap,
  Bootstrapped,
  IdentityStore,
  ListedApiKey,
  NewApiKey,
  OwnedApiKey,
} from '#services/identity/ports/identity-store.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { type ApiKeyDocument, type Collections, collectionsOf, toKey } from './documents.ts'
import { SCHEMA } from './schema.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** The store in MongoDB. Writes are transactions: two bootstraps at once conflict on one document, and one is repeated. */
export class MongoIdentityStore implements IdentityStore {
  readonly #connection: Mongo
  readonly #collections: Collections

  private constructor(connection: Mongo, collections: Collections) {
    this.#connection = connection
    this.#collections = collections
  }

  /** Makes the form where there is none. Disposing the store leaves the connection open. */
  static async open(connection: Mongo): Promise<MongoIdentityStore> {
    await prepareMongoSchema(connection, SCHEMA)
    return new MongoIdentityStore(connection, collectionsOf(connection.db))
  }

  probe(): Promise<void> {
    return this.#connection.probe('identity')
  }

  bootstrap(bootstrap: Bootstrap): Promise<Bootstrapped> {
    return this.#transaction(async (session) => {
      const found = await this.#collections.deployment.findOne({ _id: 'bootstrap' }, { session, ...LIMIT })
      const { workspaceId, organizationId } = found ?? (await this.#createBootstrapWorkspace(bootstrap, session))
      const keys: (ApiKey | undefined)[] = []
      for (const key of bootstrap.keys) {
        const there = await this.#collections.apiKeys.findOne({ hash: key.hash }, { session, ...LIMIT })
        if (there !== null) keys.push(toKey(there))
        else keys.push(found !== null && !key.given ? undefined : await this.#insertKey(workspaceId, key, session))
      }
      return { organizationId, workspaceId, first: found === null, keys }
    })
  }

  async findKey(hash: string): Promise<OwnedApiKey | undefined> {
    return owned(await this.#collections.apiKeys.findOne({ hash }, LIMIT))
  }

  async getKey(workspace: string, keyId: string): Promise<OwnedApiKey | undefined> {
    return owned(await this.#collections.apiKeys.findOne({ _id: { workspace, id: keyId } }, LIMIT))
  }

  async listKeys(
    workspace: string,
    after: number,
    limit: number,
  ): Promise<{ items: readonly ListedApiKey[]; more: boolean }> {
    const documents = await this.#collections.apiKeys
      .find({ '_id.workspace': workspace, seq: { $gt: after } }, LIMIT)
      .sort({ seq: 1 })
      .limit(limit + 1)
      .toArray()
    const items = documents.slice(0, limit).map((document) => ({ seq: document.seq, key: toKey(document) }))
    return { items, more: documents.length > limit }
  }

  createKey(workspace: string, key: NewApiKey): Promise<ApiKey> {
    return this.#transaction((session) => this.#insertKey(workspace, key, session))
  }

  async setKeyDisabled(workspace: string, keyId: string, disabled: boolean): Promise<ApiKey | undefined> {
    const document = await this.#collections.apiKeys.findOneAndUpdate(
      { _id: { workspace, id: keyId } },
      { $set: { disabled } },
      { returnDocument: 'after', ...LIMIT },
    )
    return document === null ? undefined : toKey(document)
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
    return this.#connection.transact(work)
  }

  async #createBootstrapWorkspace(bootstrap: Bootstrap, session: ClientSession) {
    const { organization, workspace, timeCreated } = bootstrap
    const ids = { organizationId: organization.id, workspaceId: workspace.id }
    const { deployment, organizations, workspaces } = this.#collections
    await deployment.insertOne({ _id: 'bootstrap', ...ids }, { session, ...LIMIT })
    await organizations.insertOne({ _id: organization.id, name: organization.name, timeCreated }, { session, ...LIMIT })
    await workspaces.insertOne(
      { _id: workspace.id, organizationId: organization.id, name: workspace.name, lastSeq: 0, timeCreated },
      { session, ...LIMIT },
    )
    return ids
  }

  async #insertKey(workspace: string, key: NewApiKey, session: ClientSession): Promise<ApiKey> {
    const owner = await this.#collections.workspaces.findOneAndUpdate(
      { _id: workspace },
      { $inc: { lastSeq: 1 } },
      { returnDocument: 'after', session, ...LIMIT },
    )
    if (owner === null) throw new Error(`There is no workspace ${workspace}`)
    const { id, hash, kind, name, prefix, timeCreated } = key
    const document: ApiKeyDocument = {
      ...{ _id: { workspace, id }, organizationId: owner.organizationId, seq: owner.lastSeq, hash, kind, name, prefix },
      ...{ disabled: false, timeCreated, timeExpires: key.timeExpires ?? null },
    }
    await this.#collections.apiKeys.insertOne(document, { session, ...LIMIT })
    return toKey(document)
  }
}

function owned(document: ApiKeyDocument | null): OwnedApiKey | undefined {
  return document === null ? undefined : { organizationId: document.organizationId, key: toKey(document) }
}
