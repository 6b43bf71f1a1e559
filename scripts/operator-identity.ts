// The identity service in the process of an operator's command.
import { existsSync } from 'node:fs'
import type { CallOptions, Client } from '@connectrpc/connect'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open, storeSchema } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { describeStore } from '#shared/config/store-config.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { anyStored } from '#shared/stores/migrate-stores.ts'
import { requireWholeStores } from '#shared/stores/store-files.ts'
import { createLogger } from '#shared/telemetry/logging.ts'
import { remark, UsageError } from './command.ts'

const NEW_STORE =
  'It is new: a server that runs with a different environment uses a different store, and does not know these keys.'
const NO_STORE = `There is no store yet. Give this command the server's environment, or create the first key with npm run key.`

/** The identity service, called by the operator. */
export interface Operator extends AsyncDisposable {
  readonly identity: Client<typeof IdentityService>
  readonly federation: Client<typeof FederationService>
  /** Options of a call in a workspace; by default the one that the deployment started with. */
  as(workspaceId?: string): CallOptions
  /** The workspace that the deployment started with. */
  readonly workspaceId: string
}

/** As `openAsOperator`. */
export async function openIdentity({ makes }: { readonly makes: boolean }): Promise<Operator> {
  const config = readConfig(process.env)
  remark(`Store: ${describeStore(config.store)}`)
  if (config.store.kind === 'sqlite' && existsSync(config.store.directory)) requireWholeStores(config.store)
  const isNew = !(await anyStored(config.store, [storeSchema]))
  if (isNew && !makes) throw new UsageError(NO_STORE)
  const logger = createLogger({ service: 'operator', level: 'silent' })
  // The server, which may have other settings, decides how long entries of the audit log are kept.
  const opened = await open({ ...config, auditDays: 0 }, { clock: systemClock, logger })
  const { organizationId, workspaceId: first, createdManagementKey, createdApiKey } = opened.bootstrap
  if (isNew) remark(NEW_STORE)
  if (createdManagementKey !== undefined) remark(`First start. Management key, shown once: ${createdManagementKey}`)
  if (createdApiKey !== undefined) remark(`First start. Workspace API key, shown once: ${createdApiKey}`)
  const transport = createLocalTransport(opened.routes)
  return {
    identity: createClient(IdentityService, transport),
    federation: createClient(FederationService, transport),
    as: (workspaceId = first) =>
      callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } }),
    workspaceId: first,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}
