import type { TokenTarget } from '../domain/access-token.ts'
import type { ApiKey } from '../domain/api-key.ts'
import type { By } from '../domain/audit.ts'
import type { Issuer, IssuerSettings, KeyHealth } from '../domain/issuer.ts'
import type { Organization } from '../domain/organization.ts'
import type { Policy, PolicySettings } from '../domain/policy.ts'

/** What an exchange has to know, as it was at one moment. What has been deleted is undefined. */
export interface ExchangeGround {
  readonly policy: Policy
  readonly issuer: Issuer | undefined
  readonly organization: Pick<Organization, 'plan'>
  /** The key that the policy targets, disabled or expired or not. */
  readonly key: Pick<ApiKey, 'kind' | 'disabled' | 'timeExpires'> | undefined
}

/** A policy that has been deleted, and whose it was, for as long as the audit log keeps its deletion. */
export interface DeletedPolicy {
  readonly deleted: true
  readonly organizationId: string
  readonly issuerId: string
  /** Undefined: it was deleted before this was written down. */
  readonly target: TokenTarget | undefined
}

/** An issuer, and what became of fetching its keys. Undefined: nobody has tried since its last change. */
export interface ListedIssuer {
  readonly issuer: Issuer
  readonly health: KeyHealth | undefined
}

/** Some of all items, in the order in which they were created, and how many there are in all. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** Which part of a list is wanted: at most `limit` (1 or more), after the first `offset`. */
export interface Slice {
  readonly offset: number
  readonly limit: number
}

/**
 * The issuers and policies of organizations. Several processes may have one store open and write to it.
 *
 * Every write is one atomic use case, together with its entry in the audit log (`by` says who and when; what it was and what it became
 * are written down by the store): it resolves after the durable commit, and after a crash either all of it is there or nothing. A change
 * that changes nothing writes nothing, raises no revision, and is no error. All changes in one organization have an order: a
 * `decide` sees what the one before it left. It is pure and synchronous, may run several times, and refuses by throwing; the write then
 * rejects with what it threw and nothing is written. Every read returns what was committed when it was called, whichever
 * process wrote it: nothing is cached, so that a paused policy refuses from the next exchange on. Another organization's record does
 * not exist.
 */
export interface FederationStore {
  /** Everything that an exchange needs, in one read; undefined: no organization has or had such a policy. Any text may be looked for. */
  findPolicy(policyId: string): Promise<ExchangeGround | DeletedPolicy | undefined>

  /** Writes an issuer that `decide` makes up, or refuses, knowing how many the organization has. Throws when the id is in use. */
  createIssuer(
    organizationId: string,
    issuerId: string,
    decide: (count: number) => IssuerSettings,
    by: By,
  ): Promise<Issuer>
  getIssuer(organizationId: string, issuerId: string): Promise<ListedIssuer | undefined>
  listIssuers(organizationId: string, slice: Slice): Promise<Page<ListedIssuer>>
  /** Returns the issuer after the change; undefined: there is none, and `decide` was not called. */
  reviseIssuer(
    organizationId: string,
    issuerId: string,
    decide: (issuer: Issuer) => IssuerSettings,
    by: By,
  ): Promise<Issuer | undefined>
  /** Leaves its policies, which refuse every exchange from then on. Returns whether there was one. */
  deleteIssuer(organizationId: string, issuerId: string, by: By): Promise<boolean>
  /** Which of these issuers the organization has. */
  presentIssuers(organizationId: string, issuerIds: readonly string[]): Promise<ReadonlySet<string>>

  /** As `createIssuer`. The issuer and the key that it names are not looked for. */
  createPolicy(
    organizationId: string,
    policyId: string,
    decide: (count: number) => PolicySettings,
    by: By,
  ): Promise<Policy>
  getPolicy(organizationId: string, policyId: string): Promise<Policy | undefined>
  /** `issuerId`: only those of this issuer, deleted or not. */
  listPolicies(organizationId: string, slice: Slice, issuerId?: string): Promise<Page<Policy>>
  /** As `reviseIssuer`. */
  revisePolicy(
    organizationId: string,
    policyId: string,
    decide: (policy: Policy) => PolicySettings,
    by: By,
  ): Promise<Policy | undefined>
  /** Returns whether there was one. */
  deletePolicy(organizationId: string, policyId: string, by: By): Promise<boolean>
}
