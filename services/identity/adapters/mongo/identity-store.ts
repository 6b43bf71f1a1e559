import { type ClientSession, MongoServerError } from 'mongodb'
import { AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import type { By } from '#services/identity/domain/audit.ts'
import { changeOf, reviseKey } from '#services/identity/domain/revise.ts'
import type {
  Bootstrap,
  Bootstrapped,
  IdentityStore,
  KeyQuery,
  ListedApiKey,
  OwnedApiKey,
} from '#services/identity/ports/identity-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { SharedReads } from '#shared/shared-reads.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { toChanges } from '#shared/stores/table.ts'
import { keySnapshot, workspaceSnapshot } from '../snapshots.ts'
import { toKey } from '../tables/api-keys.ts'
import { workspaces as workspaceTable } from '../tables/organizations.ts'
import { insertKey, insertOrganization, type KeyChange, logKey, updateKey } from './api-keys.ts'
import { logChange } from './audit-entries.ts'
import { type Collections, type DeploymentDocument, keyOf, toOwnedKey } from './documents.ts'
import type { OrganizationChanges } from './organization-changes.ts'

const DUPLICATE_KEY = 11_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Workspaces and keys in MongoDB. Of two concurrent bootstraps, which conflict on one document, one is repeated. */
export class MongoIdentityStore implements IdentityStore {
  readonly #mongo: Mongo
  readonly #changes: OrganizationChanges
  readonly #collections: Collections
  readonly #reads = new SharedReads<OwnedApiKey | undefined>()

  constructor(mongo: Mongo, changes: OrganizationChanges, collections: Collections) {
    this.#mongo = mongo
    this.#changes = changes
    this.#collections = collections
  }

  async bootstrap(bootstrap: Bootstrap): Promise<Bootstrapped> {
    const by: By = { time: bootstrap.organization.createTime }
    const { organizationId, workspaceId } = (await this.#deployment()) ?? {}
    if (organizationId === undefined || workspaceId === undefined) return this.#make(bootstrap, by)
    const keys: (ApiKey | undefined)[] = []
    for (const { key, isGiven } of bootstrap.keys) {
      const there = (await this.findKey(key.hash))?.key
      const isWanted = there === undefined && isGiven && !(await this.#isDeleted(key.hash))
      keys.push(isWanted ? await this.#giveKey(organizationId, { ...key, workspaceId }, by) : there)
    }
    return { organizationId, workspaceId, first: false, keys }
  }

  findKey(hash: string): Promise<OwnedApiKey | undefined> {
    return this.#reads.read(hash, async () => toOwnedKey(await this.#collections.apiKeys.findOne({ hash }, LIMIT)))
  }

  getKey(workspace: string, id: string): Promise<OwnedApiKey | undefined> {
    const find = () => this.#collections.apiKeys.findOne({ _id: keyOf(workspace, id) }, LIMIT)
    return this.#reads.read(`${workspace} ${id}`, async () => toOwnedKey(await find()))
  }

  async findOrganizationKey(organizationId: string, keyId: string): Promise<ApiKey | undefined> {
    return toOwnedKey(await this.#collections.apiKeys.findOne({ keyId, organizationId }, LIMIT))?.key
  }

  async listKeys(
    workspace: string,
    { after, offset, limit, kinds, enabledOnly }: KeyQuery,
  ): Promise<{ items: readonly ListedApiKey[]; more: boolean }> {
    const only = { ...(kinds.length > 0 && { kind: { $in: kinds } }), ...(enabledOnly && { disabled: 0 as const }) }
    const documents = await this.#collections.apiKeys
      .find({ workspaceId: workspace, seq: { $gt: after }, ...only }, LIMIT)
      .sort({ seq: 1 })
      .skip(offset)
      .limit(limit + 1)
      .toArray()
    const items = documents.slice(0, limit).map((document) => ({ seq: document.seq, key: toKey(document) }))
    return { items, more: documents.length > limit }
  }

  async createKey(key: ApiKey, by: By): Promise<ApiKey> {
    const owner = await this.#collections.workspaces.findOne({ _id: key.workspaceId }, LIMIT)
    if (owner === null) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: key.workspaceId })
    return this.#change(owner.organizationId, by, (change) => insertKey(this.#collections, change, key))
  }

  async reviseKey(
    workspace: string,
    keyId: string,
    decide: (key: ApiKey) => ApiKey,
    by: By,
  ): Promise<ApiKey | undefined> {
    const owned = await this.getKey(workspace, keyId)
    if (owned === undefined) return undefined
    return this.#change(owned.organizationId, by, async (change) => {
      const _id = keyOf(workspace, keyId)
      const document = await this.#collections.apiKeys.findOne({ _id }, { session: change.session, ...LIMIT })
      if (document === null) return undefined
      const was = toKey(document)
      const revised = reviseKey(was, decide(was), by.time, keySnapshot)
      if (revised === undefined) return was
      await updateKey(this.#collections, change, revised.key)
      await logKey(this.#collections, change, keyId, revised.change)
      return revised.key
    })
  }

  async deleteKey(workspace: string, keyId: string, by: By): Promise<boolean> {
    const owned = await this.getKey(workspace, keyId)
    if (owned === undefined) return false
    return this.#change(owned.organizationId, by, async (change) => {
      const { session } = change
      const before = await this.#collections.apiKeys.findOneAndDelete(
        { _id: keyOf(workspace, keyId) },
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

  async setWorkspaceLimit(workspace: string, limitNanos: bigint | undefined, by: By): Promise<boolean> {
    const { workspaces, apiKeys } = this.#collections
    const document = await workspaces.findOne({ _id: workspace }, LIMIT)
    if (document === null) return false
    const { organizationId } = document
    return this.#change(organizationId, by, async ({ session, position }) => {
      // Whoever creates a key meanwhile writes the same document, and is repeated.
      const changes = toChanges(workspaceTable.columns, { limitNanos })
      const options = { session, ...LIMIT }
      const was = await workspaces.findOneAndUpdate({ _id: workspace }, { $set: changes }, options)
      if (was === null) return false
      const change = changeOf(workspaceTable.columns.limitNanos.decode(was.limitNanos), limitNanos, workspaceSnapshot)
      if (change === undefined) return true
      const repeated = { $set: { workspaceLimitNanos: changes.limitNanos } }
      await apiKeys.updateMany({ workspaceId: workspace }, repeated, options)
      const of = { organizationId, resource: Resource.WORKSPACE, resourceId: workspace }
      await logChange(this.#collections, session, position, { ...of, ...change }, by)
      return true
    })
  }

  #change<R>(organizationId: string, by: By, work: (change: KeyChange) => Promise<R>): Promise<R> {
    return this.#changes.run(organizationId, (change) => work({ ...change, by }))
  }

  async #isDeleted(hash: string, session?: ClientSession): Promise<boolean> {
    const options = { ...LIMIT, session }
    return (await this.#collections.deletedKeys.findOne({ _id: hash }, options)) !== null
  }

  #deployment(session?: ClientSession): Promise<DeploymentDocument | null> {
    return this.#collections.deployment.findOne({ _id: 'bootstrap' }, { ...LIMIT, session })
  }

  /** Creates the deployment; if another process has done so meanwhile, a later bootstrap finds its keys. */
  async #make(bootstrap: Bootstrap, by: By): Promise<Bootstrapped> {
    const { organizationId } = bootstrap.organization
    const ids = { organizationId, workspaceId: bootstrap.workspace.id }
    const making = this.#mongo.transact(async (session) => {
      if ((await this.#deployment(session)) !== null) return undefined
      await this.#collections.deployment.insertOne({ _id: 'bootstrap', ...ids }, { session, ...LIMIT })
      await insertOrganization(this.#collections, session, bootstrap, by, bootstrap.keys.length)
      const keys: ApiKey[] = []
      for (const [index, { key }] of bootstrap.keys.entries()) {
        const change = { session, organizationId, position: 2 + index, by }
        keys.push(await insertKey(this.#collections, change, { ...key, workspaceId: ids.workspaceId }))
      }
      return { ...ids, first: true, keys }
    })
    const made = await making.catch(async (error: unknown) => {
      // What was written after the transaction had begun can be a duplicate, too, instead of a conflict.
      const isDuplicate = error instanceof MongoServerError && error.code === DUPLICATE_KEY
      if (!isDuplicate || (await this.#deployment()) === null) throw error
    })
    return made ?? this.bootstrap(bootstrap)
  }

  /** Writes a key that the operator chose, unless another process has written or deleted it meanwhile. */
  async #giveKey(organizationId: string, key: ApiKey, by: By): Promise<ApiKey | undefined> {
    try {
      return await this.#change(organizationId, by, async (change) => {
        if (await this.#isDeleted(key.hash, change.session)) return undefined
        return insertKey(this.#collections, change, key)
      })
    } catch (error) {
      const there = error instanceof MongoServerError ? await this.findKey(key.hash) : undefined
      if (there === undefined) throw error
      return there.key
    }
  }
}
