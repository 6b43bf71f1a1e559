// The store of a deployment, for the operator's commands: they work with or without a running server, because whoever
// can write to the store has the authority. The store is the one that the same environment gives the server.

import { existsSync } from 'node:fs'
import { type CallOptions, type Client, Code, ConnectError } from '@connectrpc/connect'
import type { Organization } from '#gen/portico/identity/v1/federation_pb.js'
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
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import { remark, UsageError } from './command.ts'

const PAGE = 100
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

/**
 * Opens the identity service for the operator. Throws UsageError if there is no store yet, unless the command `makes`
 * one.
 */
export async function openAsOperator({ makes }: { readonly makes: boolean }): Promise<Operator> {
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

/** All organizations, oldest first. */
export async function* listOrganizations({ federation, as }: Operator): AsyncGenerator<Organization> {
  for (let offset = 0; ; offset += PAGE) {
    const { organizations } = await federation.listOrganizations({ offset, pageSize: PAGE }, as())
    yield* organizations
    if (organizations.length < PAGE) return
  }
}

/** The id of the workspace that has this id or UUID. */
export async function workspaceIdOf(operator: Operator, name: string): Promise<string> {
  for await (const { workspaceIds } of listOrganizations(operator)) {
    const match = workspaceIds.find((id) => id === name || workspaceUuid(id) === name.toLowerCase())
    if (match !== undefined) return match
  }
  throw new ConnectError(`Workspace not found: ${name}`, Code.NotFound)
}
