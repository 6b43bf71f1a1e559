import type { IssuerSettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import { addressProblem, type FederationNetwork } from '#services/identity/domain/issuer-keys/address.ts'
import {
  candidatesOf,
  inlineKeySetProblem,
  type KeySet,
  readInlineKeySet,
} from '#services/identity/domain/issuer-keys/key-set.ts'
import type { FetchAttempt, IssuerHealth } from '#services/identity/ports/issuer-health.ts'
import type { IssuerKeyAnswer, IssuerKeys, IssuerProblem, KeyHint } from '#services/identity/ports/issuer-keys.ts'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { type DestinationRules, FetchProblem } from './destination.ts'
import { type FetchedKeySet, fetchKeySet } from './fetch-key-set.ts'
import { FetchSlots } from './fetch-slots.ts'
import { IssuerEntry, type Patience } from './issuer-entry.ts'
import { KeptByOrganization } from './kept-by-organization.ts'
import { Networks } from './networks.ts'
import { byDns, bySystem, type ResolveName } from './resolve-name.ts'

export interface FetchLimits {
  /** Maximum time of one fetch, including discovery. */
  readonly fetchMs: number
  readonly patience: Patience
  /** How many fetches may run at once, in total and for one organization. */
  readonly most: number
  readonly mostOfOrganization: number
}

/** What the keys of issuers need from outside. */
export interface IssuerKeysDependencies {
  readonly clock: Clock
  readonly logger: Logger
  readonly health: IssuerHealth
  readonly networks: readonly FederationNetwork[]
  /** The origin that our own tokens name as their issuer. */
  readonly ownOrigin: string | undefined
  /** Default: DNS. */
  readonly resolveByDns?: ResolveName
  readonly limits?: Partial<FetchLimits>
}

const LIMITS: FetchLimits = {
  fetchMs: 5_000,
  // An exchange does not read its policy again after waiting for `knownMs`.
  patience: { unknownMs: 5_500, knownMs: 100 },
  most: 32,
  mostOfOrganization: 4,
}

/** Beyond this size, keys are dropped, and fetched again when they are needed. */
const MOST_BYTES = 32 * 1_024 * 1_024
/** Overhead of an entry besides its keys, and of a key besides its id. */
const ENTRY_BYTES = 1_024
const KEY_BYTES = 2_048
const MOST_FAILURE_CHARACTERS = 300

interface CacheEntry {
  readonly revision: number
  /** Aborts fetches of this revision that are still waiting. */
  readonly superseded: AbortController
  readonly candidates: (hint: KeyHint) => Promise<IssuerKeyAnswer>
}

/** Fetches the keys of issuers over https, caches them in this process, and records the result of each fetch. */
export class FetchedIssuerKeys implements IssuerKeys, AsyncDisposable {
  readonly #dependencies: IssuerKeysDependencies
  readonly #limits: FetchLimits
  readonly #rules: DestinationRules
  readonly #slots: FetchSlots
  readonly #cache = new KeptByOrganization<CacheEntry>(MOST_BYTES)
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()

  constructor(dependencies: IssuerKeysDependencies) {
    this.#dependencies = dependencies
    this.#limits = { ...LIMITS, ...dependencies.limits }
    const { ownOrigin, resolveByDns = byDns() } = dependencies
    const networks = new Networks(dependencies.networks)
    this.#rules = { networks, ownOrigin, resolveByDns, resolveBySystem: bySystem }
    this.#slots = new FetchSlots(this.#limits.most, this.#limits.mostOfOrganization)
  }

  async candidates(issuer: Issuer, hint: KeyHint): Promise<IssuerKeyAnswer> {
    // Never looked up by `iss` or key id: what one organization says about its issuer must not affect another.
    const held = this.#cache.get(issuer.organizationId, issuer.issuerId)
    if (held?.revision === issuer.revision) return await held.candidates(hint)
    if (held !== undefined && held.revision > issuer.revision) {
      // The issuer was changed after it was read; whoever waited reads it again.
      const answer = await held.candidates(hint)
      return answer.kind === 'found' ? { ...answer, waited: true } : answer
    }
    held?.superseded.abort(new FetchProblem('the issuer was changed meanwhile'))
    const { keySource } = issuer.settings
    const made = keySource.case === 'jwks' ? this.#inline(issuer, keySource.value) : this.#fetching(issuer)
    return await made.candidates(hint)
  }

  forget({ organizationId, issuerId }: Pick<Issuer, 'organizationId' | 'issuerId'>): void {
    this.#cache.get(organizationId, issuerId)?.superseded.abort(new FetchProblem('the issuer was deleted meanwhile'))
    this.#cache.forget(organizationId, issuerId)
  }

  problemOf({ issuerUrl, keySource }: IssuerSettings): IssuerProblem | undefined {
    const { networks, ownOrigin } = this.#rules
    const issuerProblem = addressProblem(issuerUrl, 'issuer', networks, ownOrigin)
    if (issuerProblem !== undefined) return { field: 'issuer_url', problem: issuerProblem }
    if (keySource.case === 'jwksUrl') {
      const problem = addressProblem(keySource.value, 'key set', networks, ownOrigin)
      return problem === undefined ? undefined : { field: 'jwks_url', problem }
    }
    const problem = keySource.case === 'jwks' ? inlineKeySetProblem(keySource.value) : undefined
    return problem === undefined ? undefined : { field: 'jwks', problem }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new FetchProblem('the server is stopping'))
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  #inline(issuer: Issuer, jwks: string): CacheEntry {
    const read = readInlineKeySet(jwks)
    const set = 'problem' in read ? { keys: [], unusable: [] } : read
    const candidates: CacheEntry['candidates'] = async (hint) => {
      return { kind: 'found', keys: candidatesOf(set, hint), waited: false }
    }
    return this.#keep(issuer, { revision: issuer.revision, superseded: new AbortController(), candidates }, set)
  }

  /** Counts the size of the parsed keys: the document may be much larger. */
  #keep({ organizationId, issuerId }: Issuer, entry: CacheEntry, set: KeySet | undefined): CacheEntry {
    const keys = set?.keys ?? []
    const size = keys.reduce((sum, { kid = '' }) => sum + KEY_BYTES + 2 * kid.length, ENTRY_BYTES)
    this.#cache.keep(organizationId, issuerId, entry, size)
    return entry
  }

  #fetching(issuer: Issuer): CacheEntry {
    const { clock } = this.#dependencies
    const superseded = new AbortController()
    const entry = new IssuerEntry({
      clock,
      patience: this.#limits.patience,
      fetch: () => this.#follow(this.#slots.run(issuer.organizationId, superseded.signal, () => this.#fetch(issuer))),
      report: (attempt, set) => {
        void this.#follow(this.#record(issuer, attempt))
        if (set !== undefined && this.#cache.get(issuer.organizationId, issuer.issuerId) === held)
          this.#keep(issuer, held, set)
      },
    })
    const candidates = (hint: KeyHint) => entry.candidates(hint)
    const held: CacheEntry = { revision: issuer.revision, superseded, candidates }
    return this.#keep(issuer, held, undefined)
  }

  async #fetch(issuer: Issuer): Promise<FetchedKeySet> {
    const limit = AbortSignal.timeout(this.#limits.fetchMs)
    try {
      return await fetchKeySet(issuer.settings, this.#rules, AbortSignal.any([limit, this.#closing.signal]))
    } catch (error) {
      if (!limit.aborted || error instanceof FetchProblem) throw error
      throw new FetchProblem(`the keys did not arrive within ${this.#limits.fetchMs / 1_000} s`, { cause: error })
    }
  }

  async #record({ organizationId, issuerId, revision }: Issuer, attempt: FetchAttempt): Promise<void> {
    const { health, logger } = this.#dependencies
    const failure = attempt.failure?.slice(0, MOST_FAILURE_CHARACTERS)
    if (failure !== undefined)
      logger.info({ organizationId, issuerId, failure }, 'Fetching the keys of an issuer failed')
    try {
      await health.record({ organizationId, issuerId, revision }, { ...attempt, failure })
    } catch (error) {
      logger.warn({ issuerId, error }, 'The result of fetching the keys of an issuer could not be recorded')
    }
  }

  #follow<T>(work: Promise<T>): Promise<T> {
    const followed = work.finally(() => this.#running.delete(followed))
    this.#running.add(followed)
    return followed
  }
}
