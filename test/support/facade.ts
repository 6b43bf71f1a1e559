import type { DescService } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl, type Transport } from '@connectrpc/connect'
import type { Express } from 'express'
import pino from 'pino'
import { createApp } from '#gateway/app/app.ts'
import { createClients } from '#gateway/clients.ts'
import { readConfig } from '#gateway/config.ts'
import { BodyMemory } from '#gateway/http/body-memory.ts'
import { type Listener, listen } from '#gateway/http/listen.ts'
import type { Operation } from '#gateway/operation.ts'
import { PeerReadiness } from '#gateway/readiness.ts'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { systemClock } from '#shared/clock.ts'
import type { ReasonTable } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { AnswerJudge } from '#test/support/answer-judge.ts'
import { NO_HURRY } from '#test/support/portico.ts'
import { type Connect, connectLocal } from '#test/support/transports.ts'

/** Handlers that a test provides, and limits; any other call answers UNIMPLEMENTED. */
export interface Stubs {
  readonly session?: Partial<ServiceImpl<typeof SessionService>>
  readonly catalog?: Partial<ServiceImpl<typeof CatalogService>>
  readonly inference?: Partial<ServiceImpl<typeof InferenceService>>
  readonly identity?: Partial<ServiceImpl<typeof IdentityService>>
  readonly presets?: Partial<ServiceImpl<typeof PresetService>>
  readonly federation?: Partial<ServiceImpl<typeof FederationService>>
  /** Default: each service serves. */
  readonly health?: Partial<ServiceImpl<typeof Health>>
  /** Bytes. */
  readonly bodyMemory?: number
  /** Reasons that the stubs reject with. */
  readonly reasons?: ReasonTable
}

/** A facade on a free port, over handlers of the test. */
export interface TestFacade extends AsyncDisposable {
  readonly url: string
  readonly listener: Listener
  readonly app: Express
  readonly readiness: PeerReadiness
  /** Lines that were logged, parsed. */
  readonly log: Record<string, unknown>[]
  fetch(path: string, init?: RequestInit): Promise<Response>
}

/** Keys that the stub of the identity service knows. */
export const TEST_KEYS = {
  workspace: 'sk-portico-test',
  personal: 'pk-portico-test',
  management: 'mk-portico-test',
  accessToken: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl',
  expiredToken: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJiIn0.c2lnbmF0dXJl',
}

/**
 * Starts a facade over stubs. `env` is its environment; by default it listens on a free port in the mode `none`. The
 * stubs are reached within the process, messages frozen and encoded on the way, or as `connect` says.
 */
export async function openFacade(
  stubs: Stubs = {},
  env: Record<string, string> = {},
  connect: Connect = connectLocal,
  operations?: readonly Operation[],
): Promise<TestFacade> {
  const log: Record<string, unknown>[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const config = readConfig({ PORTICO_PORT: '0', ...NO_HURRY, ...env })
  const listener = await listen(config, logger)
  const connection = await connect(stubRoutes(stubs))
  const { transport } = connection
  const clients = createClients({ session: transport, catalog: transport, inference: transport, identity: transport })
  const { lifecycle, url } = listener
  // Its probes would be calls that a test did not make.
  let made: PeerReadiness | undefined
  const readiness = () => {
    made ??= new PeerReadiness(clients)
    return made
  }
  const judge = new AnswerJudge({ declared: false, operations })
  const app = createApp(
    {
      config,
      clients,
      clock: systemClock,
      logger,
      lifecycle,
      readiness: { report: () => readiness().report() },
      urls: () => [url],
    },
    operations,
    new BodyMemory(stubs.bodyMemory),
  )
  listener.serve(judge.wrap(app))
  return {
    url,
    listener,
    app,
    get readiness() {
      return readiness()
    },
    log,
    fetch: (path, init) => fetch(`${url}${path}`, init),
    async [Symbol.asyncDispose]() {
      made?.[Symbol.dispose]()
      await listener[Symbol.asyncDispose]()
      await connection[Symbol.asyncDispose]()
      judge[Symbol.dispose]()
    },
  }
}

/** The stubs, except that the session service is reached by a transport of the test. */
export function withSession(session: Transport): Connect {
  return async (...routes) => {
    const stubs = await connectLocal(...routes)
    const to = (service: DescService): Transport => (service === SessionService ? session : stubs.transport)
    return {
      transport: {
        unary: (method, ...call) => to(method.parent).unary(method, ...call),
        stream: (method, ...call) => to(method.parent).stream(method, ...call),
      },
      [Symbol.asyncDispose]: () => stubs[Symbol.asyncDispose](),
    }
  }
}

function stubRoutes(stubs: Stubs): Routes {
  return {
    domain: 'test',
    reasons: {
      CREDENTIAL_REFUSED: { code: Code.Unauthenticated, message: 'The credential is refused' },
      ...stubs.reasons,
    },
    services: [
      route(SessionService, complete(SessionService, stubs.session)),
      route(CatalogService, complete(CatalogService, stubs.catalog)),
      route(InferenceService, complete(InferenceService, stubs.inference)),
      route(Health, complete(Health, { check: () => ({ status: Status.SERVING }), ...stubs.health })),
      route(IdentityService, complete(IdentityService, { authenticate, ...stubs.identity })),
      route(PresetService, complete(PresetService, stubs.presets)),
      route(FederationService, complete(FederationService, stubs.federation)),
    ],
  }
}

const authenticate: ServiceImpl<typeof IdentityService>['authenticate'] = ({ credential }) => {
  const ids = { organizationId: 'org_1', workspaceId: 'wrk_1' }
  if (credential.case === 'localOperator') {
    return { principal: { ...ids, apiKeyId: '', kind: Principal_Kind.LOCAL_OPERATOR } }
  }
  if (credential.case === 'accessToken') {
    if (credential.value === TEST_KEYS.expiredToken) throw new Rejection('CREDENTIAL_REFUSED', { ours: 'true' })
    if (credential.value !== TEST_KEYS.accessToken) throw new Rejection('CREDENTIAL_REFUSED')
    return { principal: { ...ids, apiKeyId: 'key_1', kind: Principal_Kind.WORKSPACE } }
  }
  if (credential.value === TEST_KEYS.workspace) {
    return { principal: { ...ids, apiKeyId: 'key_1', kind: Principal_Kind.WORKSPACE } }
  }
  if (credential.value === TEST_KEYS.personal) {
    return { principal: { ...ids, apiKeyId: 'key_3', kind: Principal_Kind.PERSONAL } }
  }
  if (credential.value === TEST_KEYS.management) {
    return { principal: { ...ids, apiKeyId: 'key_2', kind: Principal_Kind.MANAGEMENT } }
  }
  throw new Rejection('CREDENTIAL_REFUSED')
}

// biome-ignore lint/suspicious/noExplicitAny: a stub of any service has any handlers.
function complete(service: { readonly methods: readonly { localName: string }[] }, given: object = {}): any {
  const unimplemented = () => {
    throw new ConnectError('Not stubbed', Code.Unimplemented)
  }
  return { ...Object.fromEntries(service.methods.map(({ localName }) => [localName, unimplemented])), ...given }
}
