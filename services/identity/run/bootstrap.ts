import type { Clock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { randomId } from '#shared/ids.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { type ApiKey, type ApiKeyKind, isUsable, prefixOf } from '../domain/api-key.ts'
import type { IdentityStore, NewApiKey } from '../ports/identity-store.ts'
import { hashOf, newSecret } from './secret.ts'

/** What a start found or created. The created keys are returned only here; the store contains only their hashes. */
export interface BootstrapResult {
  readonly organizationId: string
  readonly workspaceId: string
  readonly createdManagementKey?: string
  readonly createdApiKey?: string
}

interface Wanted {
  readonly kind: ApiKeyKind
  readonly variable: string
  readonly given: boolean
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
    wanted('management', 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', chosen.managementKey),
    wanted('workspace', 'PORTICO_BOOTSTRAP_API_KEY', chosen.apiKey),
  ] as const
  const now = clock.now()
  const { organizationId, workspaceId, first, keys } = await store.bootstrap({
    organization: { id: randomId('org'), name: 'Default' },
    workspace: { id: randomId('wrk'), name: 'Default' },
    timeCreated: now,
    keys: [management, api].map((key) => ({ ...toRecord(key, now), given: key.given })),
  })
  const problems = [management, api].flatMap((key, index) => {
    const record = keys[index]
    if (!key.given) return []
    if (record === undefined) {
      logger.warn(`${key.variable} is a key that was deleted, and remains deleted`)
      return []
    }
    if (!isUsable(record, now))
      logger.warn({ keyId: record.id }, `${key.variable} is a key that is disabled or expired`)
    const problem = conflictOf(key, record, workspaceId)
    return problem === undefined ? [] : [{ variable: key.variable, problem }]
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    organizationId,
    workspaceId,
    ...(first && !management.given ? { createdManagementKey: management.secret } : {}),
    ...(first && !api.given ? { createdApiKey: api.secret } : {}),
  }
}

function wanted(kind: ApiKeyKind, variable: string, secret: string | undefined): Wanted {
  return { kind, variable, given: secret !== undefined, secret: secret ?? newSecret(kind) }
}

function toRecord({ kind, secret }: Wanted, timeCreated: number): NewApiKey {
  const name = `bootstrap ${kind} key`
  const hash = hashOf(secret)
  const prefix = prefixOf(secret)
  return { id: randomId('key'), hash, kind, name, prefix, timeCreated, timeExpires: undefined }
}

function conflictOf(key: Wanted, record: ApiKey, workspaceId: string): string | undefined {
  if (record.workspaceId !== workspaceId) return 'is already a key of another workspace'
  return record.kind === key.kind ? undefined : `is already a ${record.kind} key`
}
