import type { Issuer as IssuerMessage, IssuerSettings } from '#gen/portico/identity/v1/federation_pb.js'

/** An identity provider whose tokens an organization accepts. */
export type Issuer = IssuerMessage & { settings: IssuerSettings }

/** Maximum number of issuers of an organization. */
export const MAX_ISSUERS = 100
