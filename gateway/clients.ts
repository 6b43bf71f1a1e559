import type { Client, Transport } from '@connectrpc/connect'
import { Health } from '#gen/grpc/health/v1/health_pb.js'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { createClient } from '#shared/rpc/client.ts'
import { namedTransport } from './errors/called-service.ts'

/** How the four services are reached: within the process, or by HTTP/2. */
export interface Transports {
  readonly session: Transport
  readonly catalog: Transport
  readonly inference: Transport
  readonly identity: Transport
}

/** The four services, and what they say of their health. */
export interface Clients {
  readonly session: Client<typeof SessionService>
  readonly catalog: Client<typeof CatalogService>
  readonly inference: Client<typeof InferenceService>
  /** Of the inference service as well. */
  readonly usage: Client<typeof UsageService>
  readonly identity: Client<typeof IdentityService>
  /** Of the inference service as well. */
  readonly presets: Client<typeof PresetService>
  /** Of the identity service as well. */
  readonly federation: Client<typeof FederationService>
  readonly health: Readonly<Record<keyof Transports, Client<typeof Health>>>
}

/** Makes the clients of the four services. */
export function createClients(transports: Transports): Clients {
  return {
    session: createClient(SessionService, namedTransport('session', transports.session)),
    catalog: createClient(CatalogService, namedTransport('catalog', transports.catalog)),
    inference: createClient(InferenceService, namedTransport('inference', transports.inference)),
    usage: createClient(UsageService, namedTransport('inference', transports.inference)),
    identity: createClient(IdentityService, namedTransport('identity', transports.identity)),
    presets: createClient(PresetService, namedTransport('inference', transports.inference)),
    federation: createClient(FederationService, namedTransport('identity', transports.identity)),
    health: {
      session: createClient(Health, transports.session),
      catalog: createClient(Health, transports.catalog),
      inference: createClient(Health, transports.inference),
      identity: createClient(Health, transports.identity),
    },
  }
}
