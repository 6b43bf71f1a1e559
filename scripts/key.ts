// Makes, lists, disables and enables API keys, beside a running server or without one: whoever can write to the store has
// the authority. The store is the one that the same environment gives the server.
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { timestampDate, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { type CallOptions, type Client, ConnectError } from '@connectrpc/connect'
import { type ApiKey, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open, storeSchema } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config.ts'
import { describeStore } from '#shared/config/store-config.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { anyStored } from '#shared/stores/migrate-stores.ts'
import { requireWholeStores } from '#shared/stores/store-files.ts'
import { createLogger } from '#shared/telemetry/logging.ts'

const USAGE = `Usage: npm run key -- create [--kind workspace|personal|management] [--name NAME] [--expires-in-days N]
       npm run key -- list
       npm run key -- disable KEY_ID
       npm run key -- enable KEY_ID

create prints only the new key on standard output, so that a shell can store it:
       export PORTICO_API_KEY=$(npm run --silent key -- create)
list prints the keys and the workspace id, which PORTICO_PROJECT_ROOTS needs.
The store is the one of the server that has the same environment (PORTICO_DATA_DIR, or PORTICO_MONGODB_URI).
`
const DAY_MS = 86_400_000
const KINDS: Readonly<Record<string, Principal_Kind>> = {
  workspace: Principal_Kind.WORKSPACE,
  personal: Principal_Kind.PERSONAL,
  management: Principal_Kind.MANAGEMENT,
}

/** The words of the command line can't be understood. */
class UsageError extends Error {}

type Command = (client: Client<typeof IdentityService>, options: CallOptions, workspaceId: string) => Promise<void>

const NEW_STORE =
  'It is new: a server that runs with a different environment uses a different store, and does not know these keys.'
const NO_STORE = `There is no store yet. Give this command the server's environment, or create the first key with create.`

try {
  const [verb, ...words] = process.argv.slice(2)
  if (verb === undefined || verb === '--help' || verb === '-h') {
    process.stdout.write(USAGE)
    process.exit()
  }
  const command = parseCommand([verb, ...words])
  const logger = createLogger({ service: 'key', level: 'silent' })
  const config = readConfig(process.env)
  remark(`Store: ${describeStore(config.store)}`)
  if (config.store.kind === 'sqlite' && existsSync(config.store.directory)) requireWholeStores(config.store)
  const isNew = !(await anyStored(config.store, [storeSchema]))
  if (isNew && verb !== 'create') throw new UsageError(NO_STORE)
  await using identity = await open(config, { clock: systemClock, logger })
  const { organizationId, workspaceId, createdManagementKey, createdApiKey } = identity.bootstrap
  if (isNew) remark(NEW_STORE)
  if (createdManagementKey !== undefined) remark(`First start. Management key, shown once: ${createdManagementKey}`)
  if (createdApiKey !== undefined) remark(`First start. Workspace API key, shown once: ${createdApiKey}`)
  const client = createClient(IdentityService, createLocalTransport(identity.routes))
  await command(
    client,
    callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } }),
    workspaceId,
  )
} catch (error) {
  if (error instanceof UsageError) {
    remark(`${error.message}\n\n${USAGE}`)
    process.exitCode = 2
  } else if (error instanceof ConnectError || error instanceof ConfigError) {
    remark(error instanceof ConnectError ? error.rawMessage : error.message)
    process.exitCode = 1
  } else {
    throw error
  }
}

function parseCommand(words: string[]): Command {
  const { values, positionals } = parseWords(words)
  const [verb, keyId, ...rest] = positionals
  if (rest.length > 0) throw new UsageError(`Unexpected arguments: ${rest.join(' ')}`)
  if (verb !== 'create' && Object.keys(values).length > 0) throw new UsageError('Only create accepts options')
  if ((verb === 'disable' || verb === 'enable') !== (keyId !== undefined)) {
    throw new UsageError(keyId === undefined ? 'A key id is required' : `Unexpected argument: ${keyId}`)
  }
  if (verb === 'create') return parseCreate(values)
  if (verb === 'list') return list
  if (verb === 'disable') return disable(keyId ?? '', true)
  if (verb === 'enable') return disable(keyId ?? '', false)
  throw new UsageError(`Unknown command: ${verb}`)
}

function parseWords(words: string[]) {
  try {
    const text = { type: 'string' } as const
    const options = { kind: text, name: text, 'expires-in-days': text }
    return parseArgs({ args: words, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function parseCreate(values: { kind?: string; name?: string; 'expires-in-days'?: string }): Command {
  const kind = KINDS[values.kind ?? 'workspace']
  if (kind === undefined) throw new UsageError(`Unknown kind: ${values.kind}`)
  const days = values['expires-in-days']
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days)) {
    throw new UsageError('--expires-in-days takes a whole number from 1 to 99999')
  }
  return async (client, options, workspaceId) => {
    const expireTime =
      days === undefined ? {} : { expireTime: timestampFromMs(systemClock.now() + Number(days) * DAY_MS) }
    const request = { kind, name: values.name ?? 'made by the key command', ...expireTime }
    const { apiKey, secret } = await client.createApiKey(request, options)
    process.stdout.write(`${secret}\n`)
    if (apiKey !== undefined) remark(`Created ${describe(apiKey)} of workspace ${workspaceId}. It is shown only once.`)
  }
}

async function list(client: Client<typeof IdentityService>, options: CallOptions, workspaceId: string): Promise<void> {
  process.stdout.write(`Keys of workspace ${workspaceId}:\n`)
  let pageToken = ''
  do {
    const page = await client.listApiKeys({ pageSize: 100, pageToken }, options)
    for (const key of page.apiKeys) process.stdout.write(`${describe(key)}\n`)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
}

function disable(keyId: string, disabled: boolean): Command {
  return async (client, options) => {
    const { apiKey } = await client.updateApiKey({ keyId, disabled }, options)
    if (apiKey !== undefined) remark(`Changed: ${describe(apiKey)}`)
  }
}

function describe(key: ApiKey): string {
  const kind = Object.keys(KINDS).find((name) => KINDS[name] === key.kind)
  const expired = key.expireTime !== undefined && timestampMs(key.expireTime) <= systemClock.now()
  const state = key.disabled ? 'disabled' : expired ? 'expired' : 'enabled'
  const expiry =
    key.expireTime === undefined ? 'never expires' : `expires ${timestampDate(key.expireTime).toISOString()}`
  return [key.keyId, `${key.prefix}…`, kind, state, expiry, JSON.stringify(key.name)].join('  ')
}

function remark(text: string): void {
  process.stderr.write(`${text}\n`)
}
