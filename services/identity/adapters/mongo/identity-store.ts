import { type ClientSession, MongoServerError } from 'mongodb'
import type { ApiKey } from '#services/identity/domain/api-key.ts'
import type { By } from '#services/identity/domain/audit.ts'
import type {
  Bootstrap,
  Bootstrapped,
  IdentityStore,
  ListedApiKey,
  NewApiKey,
  OwnedApiKey,
} from '#services/identity/ports/identity-store.ts'
import { keySnapshot } from '#services/identity/run/snapshots.ts'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { changeKey, insertKey, insertOrganization, logKey } from './api-keys.ts'
import { type ApiKeyDocument, type Collections, type DeploymentDocument, toKey } from './documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Workspaces and keys in MongoDB. Writes are transactions: two bootstraps at once conflict on one document, and one is repeated. */
export class MongoIdentityStore implements IdentityStore {
  readonly #mongo: Mongo
  readonly #collections: Collections

  constructor(mongo: Mongo, collections: Collections) {
    this.#mongo = mongo
    this.#collections = collections
  }

  async bootstrap(bootstrap: Bootstrap): Promise<Bootstrapped> {
    const by: By = { actor: { kind: 'operator' }, time: bootstrap.timeCreated }
    const { organizationId, workspaceId } = (await this.#deployment()) ?? {}
    if (organizationId === undefined || workspaceId === undefined) return this.#make(bootstrap, by)
    const keys: (ApiKey | undefined)[] = []
    for (const key of bootstrap.keys) {
      const there = (await this.findKey(key.hash))?.key
      const isWanted = there === undefined && key.given && !(await this.#isDeleted(key.hash))
      keys.push(isWanted ? await this.#giveKey({ organizationId, workspaceId }, key, by) : there)
    }
    return { organizationId, workspaceId, first: false, keys }
  }

  async findKey(hash: string): Promise<OwnedApiKey | undefined> {
    return owned(await this.#collections.apiKeys.findOne({ hash }, LIMIT))
  }

  async getKey(workspace: string, keyId: string): Promise<OwnedApiKey | undefined> {
    return owned(await this.#collections.apiKeys.findOne({ _id: { workspace, id: keyId } }, LIMIT))
  }

  async findOrganizationKey(organizationId: string, keyId: string): Promise<ApiKey | undefined> {
    return owned(await this.#collections.apiKeys.findOne({ '_id.id': keyId, organizationId }, LIMIT))?.key
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

  async createKey(workspace: string, key: NewApiKey, by: By): Promise<ApiKey> {
    const owner = await this.#collections.workspaces.findOne({ _id: workspace }, LIMIT)
    if (owner === null) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: workspace })
    return this.#change(owner.organizationId, by, (change) => insertKey(this.#collections, change, workspace, key))
  }

  async setKeyDisabled(workspace: string, keyId: string, disabled: boolean, by: By): Promise<ApiKey | undefined> {
    const found = await this.getKey(workspace, keyId)
    if (found === undefined || found.key.disabled === disabled) return found?.key
    return this.#change(found.organizationId, by, async (change) => {
      const before = await this.#collections.apiKeys.findOneAndUpdate(
        { _id: { workspace, id: keyId } },
        { $set: { disabled } },
        { returnDocument: 'before', session: change.session, ...LIMIT },
      )
      if (before === null) return undefined
      const [was, is] = [toKey(before), toKey({ ...before, disabled })]
      const snapshots = { before: keySnapshot(was), after: keySnapshot(is) }
      if (was.disabled !== disabled) await logKey(this.#collections, change, keyId, snapshots)
      return is
    })
  }

  async deleteKey(workspace: string, keyId: string, by: By): Promise<boolean> {
    const found = await this.getKey(workspace, keyId)
    if (found === undefined) return false
    return this.#change(found.organizationId, by, async (change) => {
      const { session } = change
      const before = await this.#collections.apiKeys.findOneAndDelete(
        { _id: { workspace, id: keyId } },
        { session, ...LIMIT },
      )
      if (before !== null) {
        const _id = before.hash
        await this.#collections.deletedKeys.updateOne({ _id }, { $set: { _id } }, { upsert: true, session, ...LIMIT })
        await logKey(this.#collections, change, keyId, { before: keySnapshot(toKey(before)) })
      }
      return before !== null
    })
  }

  #change<R>(organizationId: string, by: By, work: Parameters<typeof changeKey<R>>[4]): Promise<R> {
    return changeKey(this.#mongo, this.#collections, organizationId, by, work)
  }

  async #isDeleted(hash: string, session?: ClientSession): Promise<boolean> {
    const options = { ...LIMIT, ...(session && { session }) }
    return (await this.#collections.deletedKeys.findOne({ _id: hash }, options)) !== null
  }

  #deployment(session?: ClientSession): Promise<DeploymentDocument | null> {
    return this.#collections.deployment.findOne({ _id: 'bootstrap' }, { ...LIMIT, ...(session && { session }) })
  }

  /** Makes the deployment; where another process has meanwhile, its keys are what a later bootstrap finds. */
  async #make(bootstrap: Bootstrap, by: By): Promise<Bootstrapped> {
    const { organization, workspace, keys: newKeys } = bootstrap
    const ids = { organizationId: organization.id, workspaceId: workspace.id }
    const made = await this.#mongo.transact(async (session) => {
      if ((await this.#deployment(session)) !== null) return undefined
      const whole = { ...organization, plan: 'enterprise', workspace } as const
      await this.#collections.deployment.insertOne({ _id: 'bootstrap', ...ids }, { session, ...LIMIT })
      await insertOrganization(this.#collections, session, whole, by, newKeys.length)
      const keys: ApiKey[] = []
      for (const [index, key] of newKeys.entries()) {
        const change = { session, organizationId: organization.id, position: 2 + index, by }
        keys.push(await insertKey(this.#collections, change, workspace.id, key))
      }
      return { ...ids, first: true, keys }
    })
    return made ?? this.bootstrap(bootstrap)
  }

  /** Writes a key that the operator chose, unless another process has meanwhile, or has deleted it. */
  async #giveKey(
    { organizationId, workspaceId }: Pick<Bootstrapped, 'organizationId' | 'workspaceId'>,
    key: NewApiKey,
    by: By,
  ): Promise<ApiKey | undefined> {
    try {
      return await this.#change(organizationId, by, async (change) => {
        if (await this.#isDeleted(key.hash, change.session)) return undefined
        return insertKey(this.#collections, change, workspaceId, key)
      })
    } catch (error) {
      const there = error instanceof MongoServerError ? await this.findKey(key.hash) : undefined
      if (there === undefined) throw error
      return there.key
    }
  }
}

function owned(document: ApiKeyDocument | null): OwnedApiKey | undefined {
  return document === null ? undefined : { organizationId: document.organizationId, key: toKey(document) }
}
