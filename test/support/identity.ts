import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { CallOptions, Client } from '@connectrpc/connect'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { type CreateApiKeyRequestSchema, IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open, storeSchema } from '#services/identity/open.ts'
import type { Clock } from '#shared/clock.ts'
import { callOptions, type PrincipalKind } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { writeEmptyStores } from '#test/support/empty-stores.ts'
import { type Connect, silentLogger } from '#test/support/transports.ts'

/** Keys of every identity service of the tests. */
export const testKeys = {
  management: 'mk-portico-management-key-of-tests',
  workspace: 'sk-portico-workspace-key-of-tests',
}

/** An identity service of a test, called over one of the transports. */
export interface TestIdentity extends AsyncDisposable {
  readonly routes: Routes
  /** The folder of the store. */
  readonly directory: string
  readonly client: Client<typeof IdentityService>
  readonly federation: Client<typeof FederationService>
  readonly organizationId: string
  readonly workspaceId: string
  /** The service's time in milliseconds; a test moves it. */
  readonly clock: Clock & { time: number }
  /** Options of a call on behalf of the bootstrap workspace. */
  as(kind: PrincipalKind, apiKeyId?: string): CallOptions
  /** Creates a key as the local operator. */
  create(request?: MessageInitShape<typeof CreateApiKeyRequestSchema>): Promise<{ keyId: string; secret: string }>
}

/** Opens a service of its own in a folder of its own; its clock stands at 2026-01-01. Disposing it removes both. */
export async function openIdentity(connect: Connect, env: Record<string, string> = {}): Promise<TestIdentity> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-identity-'))
  await writeEmptyStores(directory, storeSchema)
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time, monotonic: () => clock.time }
  const config = readConfig({
    PORTICO_DATA_DIR: directory,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: testKeys.management,
    PORTICO_BOOTSTRAP_API_KEY: testKeys.workspace,
    ...env,
  })
  const service = await open(config, { clock, logger: silentLogger })
  const connection = await connect(service.routes)
  const client = createClient(IdentityService, connection.transport)
  const federation = createClient(FederationService, connection.transport)
  const { organizationId, workspaceId } = service.bootstrap
  const as = (kind: PrincipalKind, apiKeyId = ''): CallOptions =>
    callOptions({ principal: { organizationId, workspaceId, apiKeyId, kind } })
  return {
    routes: service.routes,
    directory,
    client,
    federation,
    organizationId,
    workspaceId,
    clock,
    as,
    async create(request = {}) {
      const whole = { kind: Principal_Kind.WORKSPACE, name: 'a key', ...request }
      const { apiKey, secret } = await client.createApiKey(whole as typeof request, as('local-operator'))
      return { keyId: apiKey?.keyId ?? '', secret }
    },
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}
