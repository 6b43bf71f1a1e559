import type { ApiKey, ApiKeyKind } from '../domain/api-key.ts'
import type { By } from '../domain/audit.ts'
import type { KeyTerms } from '../domain/key-terms.ts'

/** A key to write; the key itself never reaches a store, only its hash. */
export interface NewApiKey extends Omit<ApiKey, 'workspaceId' | 'disabled' | 'terms' | 'creatorKeyId' | 'timeUpdated'> {
  /** Default: no limits. */
  readonly terms?: KeyTerms
}

/** Which keys of a workspace are listed: `limit` (1 or more) after the first `offset` of those behind a place in their order (0: from the start). */
export interface KeyQuery {
  readonly after: number
  readonly offset: number
  readonly limit: number
  /** None: all. */
  readonly kinds: readonly ApiKeyKind[]
  readonly enabledOnly: boolean
}

/** What a deployment starts with. */
export interface Bootstrap {
  readonly organization: { readonly id: string; readonly name: string }
  readonly workspace: { readonly id: string; readonly name: string }
  readonly timeCreated: number
  /**
   * `given`: chosen by the operator, so it is there after every bootstrap, unless it was deleted. The others are made up by the
   * caller and are written only together with the workspace.
   */
  readonly keys: readonly (NewApiKey & { readonly given: boolean })[]
}

/** What is there after a bootstrap. */
export interface Bootstrapped {
  readonly organizationId: string
  readonly workspaceId: string
  /** Whether this call made the organization, the workspace and the made-up keys. */
  readonly first: boolean
  /**
   * For each key of it, in order: the record with its hash, in whatever workspace; undefined: not written, since it was made up and
   * this call is not the first, or is a given one that was deleted.
   */
  readonly keys: readonly (ApiKey | undefined)[]
}

/** A key, and what its workspace says. */
export interface OwnedApiKey {
  readonly organizationId: string
  /** Most that all keys of the workspace together may spend, in nano-dollars; undefined: anything. */
  readonly workspaceLimitNanos: bigint | undefined
  readonly key: ApiKey
}

/** A key and its place in the order of creation within its workspace. */
export interface ListedApiKey {
  readonly seq: number
  readonly key: ApiKey
}

/**
 * Workspaces and API keys. Several processes may have one store open and write to it.
 *
 * Every write is one atomic use case, together with its entries in the audit log of the organization (`by` says who and when): it resolves
 * after the durable commit, and after a crash either all of it is there or nothing. A change that changes nothing has no entry. Every read returns what was committed when it was called, whichever process wrote it; nobody changes what it returns. A
 * counter on the workspace, raised in the same transaction, numbers its keys; ids never sort anything. Another
 * workspace's key does not exist.
 */
export interface IdentityStore {
  /**
   * Makes what a deployment starts with, by the operator, unless it is there: of any number of calls, also at once and from several
   * processes, exactly one makes the organization, the workspace and the made-up keys, and all return the same
   * workspace. The organization has the plan `enterprise`. A given key whose hash is there already is left as it is, disabled or
   * not; one that was deleted is never written again.
   */
  bootstrap(bootstrap: Bootstrap): Promise<Bootstrapped>

  /** The key with this hash in any workspace: the caller is not known yet. Undefined: there is none. */
  findKey(hash: string): Promise<OwnedApiKey | undefined>
  /** The key of this id in a workspace, with its organization. */
  getKey(workspace: string, keyId: string): Promise<OwnedApiKey | undefined>
  /** The key of this id in any workspace of an organization. */
  findOrganizationKey(organizationId: string, keyId: string): Promise<ApiKey | undefined>
  /** Oldest first. */
  listKeys(workspace: string, query: KeyQuery): Promise<{ items: readonly ListedApiKey[]; more: boolean }>
  /** Writes a key that is enabled. Rejects with WORKSPACE_NOT_FOUND; throws when the id or the hash is in use. */
  createKey(workspace: string, key: NewApiKey, by: By): Promise<ApiKey>
  /**
   * Changes name, terms, expiry or whether a key is disabled: `decide` may run several times, and what it returns is written. Returns the
   * key after the change; undefined: there is none.
   */
  reviseKey(workspace: string, keyId: string, decide: (key: ApiKey) => ApiKey, by: By): Promise<ApiKey | undefined>
  /** Deletes a key for ever: its hash is remembered, for later bootstraps. Returns whether there was one. */
  deleteKey(workspace: string, keyId: string, by: By): Promise<boolean>
  /**
   * Sets the most that all keys of a workspace together may spend, in nano-dollars; undefined: anything. Every read of one of its keys that
   * begins later returns it. Returns whether there is such a workspace.
   */
  setWorkspaceLimit(workspace: string, limitNanos: bigint | undefined, by: By): Promise<boolean>
}
