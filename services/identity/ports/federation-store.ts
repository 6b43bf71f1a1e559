import type { IssuerSettings, Organization, PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import type { By } from '../domain/audit.ts'
import type { Issuer } from '../domain/issuer.ts'
import type { Policy } from '../domain/policy.ts'

/** What an exchange has to know, as of one moment. Deleted records are undefined. */
export interface ExchangeGround {
  readonly policy: Policy
  readonly issuer: Issuer | undefined
  readonly organization: Pick<Organization, 'plan'>
  /** The key that the policy targets, even if it is disabled or expired. */
  readonly key: Pick<ApiKey, 'kind' | 'disabled' | 'expireTime'> | undefined
}

/** A deleted policy, for as long as the audit log keeps its deletion. */
export interface DeletedPolicy {
  readonly deleted: true
  readonly organizationId: string
  readonly issuerId: string
  readonly keyId: string
}

/** A part of a list, in order of creation, and the number of all items. */
export interface Page<T> {
  readonly items: T[]
  readonly total: number
}

/** The requested part of a list: at most `limit` items (1 or more), after the first `offset`. */
export interface Slice {
  readonly offset: number
  readonly limit: number
}

/**
 * The issuers and policies of organizations. Several processes may have one store open and write to it.
 *
 * Every write is one atomic use case, together with its entry in the audit log (`by` says who and when; the store
 * records the states before and after). It resolves after the durable commit; after a crash, either all of it exists or
 * nothing. A change that changes nothing writes nothing, does not increment the revision, and is not an error. All
 * changes in one organization are ordered: each `decide` sees the result of the one before it. It is pure and
 * synchronous, may run several times, and refuses by throwing; then the write rejects with that error, and nothing is
 * written. Every read returns what was committed when it was called, by any process: nothing is cached, so that a
 * paused policy refuses from the next exchange on. Records of other organizations do not exist.
 */
export interface FederationStore {
  /**
   * Everything that an exchange needs, in one read; undefined: no organization has or had such a policy. Any text is
   * allowed as the id.
   */
  findPolicy(policyId: string): Promise<ExchangeGround | DeletedPolicy | undefined>

  /**
   * Writes an issuer that `decide` creates, or refuses to, given how many the organization has. Throws if the id is in
   * use.
   */
  createIssuer(
    organizationId: string,
    issuerId: string,
    decide: (count: number) => IssuerSettings,
    by: By,
  ): Promise<Issuer>
  getIssuer(organizationId: string, issuerId: string): Promise<Issuer | undefined>
  listIssuers(organizationId: string, slice: Slice): Promise<Page<Issuer>>
  /** Returns the issuer after the change; undefined: there is none, and `decide` was not called. */
  reviseIssuer(
    organizationId: string,
    issuerId: string,
    decide: (settings: IssuerSettings) => IssuerSettings,
    by: By,
  ): Promise<Issuer | undefined>
  /** Its policies remain, and refuse every exchange from then on. Returns whether there was one. */
  deleteIssuer(organizationId: string, issuerId: string, by: By): Promise<boolean>
  /** Which of these issuers the organization has. */
  presentIssuers(organizationId: string, issuerIds: readonly string[]): Promise<ReadonlySet<string>>

  /** Like `createIssuer`. It does not check whether the issuer and the key exist. */
  createPolicy(
    organizationId: string,
    policyId: string,
    decide: (count: number) => PolicySettings,
    by: By,
  ): Promise<Policy>
  getPolicy(organizationId: string, policyId: string): Promise<Policy | undefined>
  /** `issuerId`: only those of this issuer, deleted or not. */
  listPolicies(organizationId: string, slice: Slice, issuerId?: string): Promise<Page<Policy>>
  /** Like `reviseIssuer`. */
  revisePolicy(
    organizationId: string,
    policyId: string,
    decide: (settings: PolicySettings) => PolicySettings,
    by: By,
  ): Promise<Policy | undefined>
  /** Returns whether there was one. */
  deletePolicy(organizationId: string, policyId: string, by: By): Promise<boolean>
}
