// Creates, lists, changes, disables, enables and deletes API keys, as the operator.
import { type ApiKey, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { systemClock } from '#shared/clock.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import { parseWords, remark, runCommand, UsageError } from './command.ts'
import { describeTerms, parseDollars, parseTerms, TERM_OPTIONS } from './key-options.ts'
import { type Operator, openAsOperator, workspaceIdOf } from './operator.ts'

const USAGE = `Usage: npm run key -- create [--kind workspace|personal|management] [--name NAME] [--expires-in-days N]
                              [TERMS]
       npm run key -- list
       npm run key -- set KEY_ID TERMS
       npm run key -- disable KEY_ID
       npm run key -- enable KEY_ID
       npm run key -- delete KEY_ID
       npm run key -- workspace-limit DOLLARS|none

TERMS: --limit DOLLARS --reset never|daily|weekly|monthly --requests-per-minute N --tokens-per-minute N
       --concurrent-requests N --models PATTERN,PATTERN (provider/model, where * stands for any text)
       --responses-dialect both|openai|specification --history-ids true|false; none removes one

Keys of the kinds workspace (the default) and personal make requests; only a workspace key can be the target of a policy.
A management key administers its organization.
create prints only the new key on standard output, so that a shell can store it:
       export PORTICO_API_KEY=$(npm run --silent key -- create)
list prints the keys, the workspace id, which PORTICO_PROJECT_ROOTS needs, and the UUID by which /api/v1 shows the workspace.
Each takes --workspace WORKSPACE (its id or its UUID) for another workspace than the first one.
The store is the one of the server that has the same environment (PORTICO_DATA_DIR, or PORTICO_MONGODB_URI).
`
const DAY_MS = 86_400_000
const KINDS: Readonly<Record<string, Principal_Kind>> = {
  workspace: Principal_Kind.WORKSPACE,
  personal: Principal_Kind.PERSONAL,
  management: Principal_Kind.MANAGEMENT,
}

const TEXT = { type: 'string' } as const
const OPTIONS = { kind: TEXT, name: TEXT, 'expires-in-days': TEXT, workspace: TEXT, ...TERM_OPTIONS }

type Command = (operator: Operator, workspaceId: string) => Promise<void>

await runCommand(USAGE, async (words) => {
  const { values, positionals } = parseWords({ args: words, allowPositionals: true, options: OPTIONS })
  const { workspace, ...options } = values
  const command = parseCommand(positionals, options)
  await using operator = await openAsOperator({ makes: positionals[0] === 'create' && workspace === undefined })
  await command(operator, workspace === undefined ? operator.workspaceId : await workspaceIdOf(operator, workspace))
})

function parseCommand(positionals: readonly string[], options: { readonly [name: string]: string }): Command {
  const [verb = '', keyId, ...rest] = positionals
  if (rest.length > 0) throw new UsageError(`Unexpected arguments: ${rest.join(' ')}`)
  const isChange = verb === 'create' || verb === 'set'
  if (!isChange && Object.keys(options).length > 0) throw new UsageError(`${verb} accepts only --workspace`)
  if (verb === 'workspace-limit') return limitWorkspace(keyId)
  if (['set', 'disable', 'enable', 'delete'].includes(verb) !== (keyId !== undefined)) {
    throw new UsageError(keyId === undefined ? 'A key id is required' : `Unexpected argument: ${keyId}`)
  }
  if (verb === 'create') return parseCreate(options)
  if (verb === 'list') return list
  if (verb === 'set') return setTerms(keyId ?? '', options)
  if (verb === 'disable') return disable(keyId ?? '', true)
  if (verb === 'enable') return disable(keyId ?? '', false)
  if (verb === 'delete') return remove(keyId ?? '')
  throw new UsageError(`Unknown command: ${verb}`)
}

function parseCreate(values: { readonly [name: string]: string }): Command {
  const kind = KINDS[values.kind ?? 'workspace']
  if (kind === undefined) throw new UsageError(`Unknown kind: ${values.kind}`)
  const days = values['expires-in-days']
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days)) {
    throw new UsageError('--expires-in-days takes a whole number from 1 to 99999')
  }
  const { terms } = parseTerms(values)
  if (values.reset !== undefined && terms.limitNanos === undefined) throw new UsageError('--reset needs --limit')
  return async ({ identity, as }, workspaceId) => {
    const expireTime = days === undefined ? undefined : systemClock.now() + Number(days) * DAY_MS
    const request = { kind, name: values.name ?? 'made by the key command', expireTime, terms }
    const { apiKey, secret } = await identity.createApiKey(request, as(workspaceId))
    process.stdout.write(`${secret}\n`)
    if (apiKey !== undefined)
      remark(`Created ${describe(apiKey)} of workspace ${workspaceId}. The key is shown only once.`)
  }
}

async function list({ identity, as }: Operator, workspaceId: string): Promise<void> {
  process.stdout.write(`Keys of workspace ${workspaceId} (in /api/v1: ${workspaceUuid(workspaceId)}):\n`)
  let pageToken: string | undefined
  do {
    const page = await identity.listApiKeys({ pageSize: 100, pageToken }, as(workspaceId))
    for (const key of page.apiKeys) process.stdout.write(`${describe(key)}\n`)
    pageToken = page.nextPageToken
  } while (pageToken !== undefined)
}

function disable(keyId: string, disabled: boolean): Command {
  return async ({ identity, as }, workspaceId) => {
    const { apiKey } = await identity.updateApiKey(
      { keyId, disabled, updateMask: { paths: ['disabled'] } },
      as(workspaceId),
    )
    if (apiKey !== undefined) remark(`Changed: ${describe(apiKey)}`)
  }
}

function setTerms(keyId: string, options: { readonly [name: string]: string }): Command {
  const { terms, paths } = parseTerms(options)
  const other = Object.keys(options).find((name) => !(name in TERM_OPTIONS))
  if (other !== undefined) throw new UsageError(`set does not accept --${other}`)
  if (paths.length === 0) throw new UsageError('set takes at least one of the terms')
  return async ({ identity, as }, workspaceId) => {
    const { apiKey } = await identity.updateApiKey({ keyId, terms, updateMask: { paths } }, as(workspaceId))
    if (apiKey !== undefined) remark(`Changed: ${describe(apiKey)}`)
  }
}

function limitWorkspace(dollars: string | undefined): Command {
  if (dollars === undefined) throw new UsageError('workspace-limit takes an amount of US dollars, or none')
  const limitNanos = parseDollars('workspace-limit', dollars)
  return async ({ identity, as }, workspaceId) => {
    await identity.setWorkspaceLimit({ limitNanos }, as(workspaceId))
    remark(
      `The keys of workspace ${workspaceId} together may spend ${dollars === 'none' ? 'any amount' : `$${dollars}`}`,
    )
  }
}

function remove(keyId: string): Command {
  return async ({ identity, as }, workspaceId) => {
    await identity.deleteApiKey({ keyId }, as(workspaceId))
    remark(`Deleted: ${keyId}`)
  }
}

function describe(key: ApiKey): string {
  const kind = Object.keys(KINDS).find((name) => KINDS[name] === key.kind)
  const expired = key.expireTime !== undefined && key.expireTime <= systemClock.now()
  const state = key.disabled ? 'disabled' : expired ? 'expired' : 'enabled'
  const expiry = key.expireTime === undefined ? 'never expires' : `expires ${new Date(key.expireTime).toISOString()}`
  return [key.keyId, `${key.prefix}…`, kind, state, expiry, ...describeTerms(key), JSON.stringify(key.name)].join('  ')
}
