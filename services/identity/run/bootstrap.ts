import { create } from '@bufbuild/protobuf'
import { Organization_Plan, OrganizationSchema } from '#gen/portico/identity/v1/federation_pb.js'
import { type ApiKey, Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Clock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { randomId } from '#shared/ids.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isUsable, kindName } from '../domain/api-key.ts'
import type { By } from '../domain/audit.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { newKey, newSecret } from './new-key.ts'

/** What a start found or created. The created keys are returned only here; the store contains only their hashes. */
export interface BootstrapResult {
  readonly organizationId: string
  readonly workspaceId: string
  readonly createdManagementKey?: string
  readonly createdApiKey?: string
}

interface BootstrapKey {
  readonly kind: Kind
  readonly variable: string
  readonly isGiven: boolean
  readonly secret: string
}

/**
 * Makes sure that there are an organization, a workspace and keys to begin with, and that the keys that the operator
 * chose exist, unless they were deleted since. Throws a ConfigError if a chosen key already exists with another kind or
 * in another workspace.
 */
export async function bootstrap(
  store: IdentityStore,
  chosen: { readonly managementKey: string | undefined; readonly apiKey: string | undefined },
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<BootstrapResult> {
  const [management, api] = [
    bootstrapKey(Kind.MANAGEMENT, 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', chosen.managementKey),
    bootstrapKey(Kind.WORKSPACE, 'PORTICO_BOOTSTRAP_API_KEY', chosen.apiKey),
  ] as const
  const by: By = { time: clock.now() }
  const workspace = { id: randomId('wrk'), name: 'Default' }
  const { organizationId, workspaceId, first, keys } = await store.bootstrap({
    organization: create(OrganizationSchema, {
      organizationId: randomId('org'),
      name: 'Default',
      plan: Organization_Plan.ENTERPRISE,
      createTime: by.time,
    }),
    workspace,
    keys: [management, api].map(({ kind, secret, isGiven }) => {
      const name = `bootstrap ${kindName(kind)} key`
      return { key: newKey(secret, { workspaceId: workspace.id, kind, name }, by), isGiven }
    }),
  })
  const problems = [management, api].flatMap((key, index) => {
    const record = keys[index]
    if (!key.isGiven) return []
    if (record === undefined) {
      logger.warn(`${key.variable} is a key that was deleted, and remains deleted`)
      return []
    }
    if (!isUsable(record, by.time))
      logger.warn({ keyId: record.keyId }, `${key.variable} is a key that is disabled or expired`)
    const problem = conflictOf(key, record, workspaceId)
    return problem === undefined ? [] : [{ variable: key.variable, problem }]
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    organizationId,
    workspaceId,
    createdManagementKey: first && !management.isGiven ? management.secret : undefined,
    createdApiKey: first && !api.isGiven ? api.secret : undefined,
  }
}

function bootstrapKey(kind: Kind, variable: string, secret: string | undefined): BootstrapKey {
  return { kind, variable, isGiven: secret !== undefined, secret: secret ?? newSecret(kind) }
}

function conflictOf(key: BootstrapKey, record: ApiKey, workspaceId: string): string | undefined {
  if (record.workspaceId !== workspaceId) return 'is already a key of another workspace'
  return record.kind === key.kind ? undefined : `is already a ${kindName(record.kind)} key`
}
