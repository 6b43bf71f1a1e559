import type { Policy as PolicyMessage, PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'

/** Determines which tokens of an issuer are exchanged, and for which key. Its id is unique across organizations. */
export type Policy = PolicyMessage & { settings: PolicySettings }

/** Maximum number of policies of an organization. */
export const MAX_POLICIES = 1_000
