import { create } from '@bufbuild/protobuf'
import {
  PermissionRule_Effect as Effect,
  Agent_Mode as Mode,
  type ModelRef,
  ModelRefSchema,
  type PermissionRule,
  PermissionRuleSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { isDeeperThan, isJson, isObject, type JsonObject, MAX_LEVELS } from '#shared/json.ts'
import type { AgentDocument, AgentEntry, RequestOverlay } from './agent.ts'
import { ASK_ALWAYS } from './builtin-agents.ts'
import { AGENT_KEYS, fromLegacy, fromLegacyDocument, isLegacy } from './legacy-agent.ts'

/** A document is invalid; the message names the member. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}

/** Top-level keys of a configuration document that are used, and those that mean nothing to a server. */
const KEYS = ['agents', 'permissions', 'default_agent', 'mcp', 'plugins']
const OLDER_KEYS = ['agent', 'tools', 'permission']
const MAX_NAMED = 16
const MCP_KEYS = ['type', 'command', 'environment', 'cwd', 'url', 'headers', 'oauth', 'timeout', 'enabled']
const SILENT_KEYS = ['$schema', 'theme', 'keybinds', 'tui', 'username', 'share', 'autoupdate']

const EFFECTS: Readonly<Record<string, Effect>> = { allow: Effect.ALLOW, deny: Effect.DENY, ask: Effect.ASK }
const MODES: Readonly<Record<string, Mode>> = { primary: Mode.PRIMARY, subagent: Mode.SUBAGENT, all: Mode.ALL }

/**
 * Reads the agents in a configuration document, also in OpenCode's older keys. A malformed agent is left out and
 * reported to `onProblem`, and so are unknown keys. Something that was meant to be denied must not end up allowed:
 * malformed rules for all agents become one rule with `ask` for everything, and so does a malformed entry of an agent
 * that is also defined elsewhere.
 */
export function readConfigDocument(value: unknown, onProblem: (problem: string) => void): AgentDocument {
  if (!isObject(value)) throw new DocumentError('the document is not an object')
  const document = fromLegacyDocument(value)
  const agents = new Map<string, AgentEntry>()
  const malformed: string[] = []
  for (const [id, entry] of Object.entries(document.agents)) {
    const agent = readOrReport(onProblem, () => readAgentEntry(entry, `agents.${id}`))
    if (agent === undefined) malformed.push(id)
    else agents.set(id, agent)
    if (isObject(entry)) reportUnknown(entry, AGENT_KEYS, (problem) => onProblem(`agents.${id}: ${problem}`))
  }
  for (const [name, entry] of Object.entries(isObject(value.mcp) ? value.mcp : {})) {
    if (isObject(entry)) reportUnknown(entry, MCP_KEYS, (problem) => onProblem(`mcp.${name}: ${problem}`))
  }
  reportUnknown(value, [...KEYS, ...OLDER_KEYS, ...SILENT_KEYS], onProblem)
  const rules = readOrReport(onProblem, () => {
    const list = ['agents', 'agent'].find((key) => !isObject(value[key] ?? {}))
    if (list !== undefined) throw new DocumentError(`${list} is not an object`)
    return readRules(document.permissions, 'permissions')
  })
  return {
    agents,
    malformed,
    permissions: rules ?? [ASK_ALWAYS],
    defaultAgent: typeof value.default_agent === 'string' ? value.default_agent : undefined,
  }
}

/**
 * Reads the agent in a Markdown file: its parsed front matter and its body. Unknown keys in the front matter make it
 * the legacy form. Throws DocumentError.
 */
export function readMarkdownAgent(matter: unknown, body: string, mode?: Mode): AgentEntry {
  const fields = matter ?? {}
  if (!isObject(fields)) throw new DocumentError('the front matter is not a map')
  const entry = readAgentEntry(isLegacy(fields) ? fromLegacy(fields) : fields, 'front matter')
  return { ...entry, ...(body !== '' && { system: body }), ...(mode !== undefined && { mode }) }
}

/** Reads one agent; `at` names it in messages. Throws DocumentError. */
function readAgentEntry(value: unknown, at: string): AgentEntry {
  if (!isObject(value)) throw new DocumentError(`${at} is not an object`)
  const member = <T>(name: string, read: (value: unknown, at: string) => T): { [key: string]: T } =>
    value[name] === undefined || value[name] === null ? {} : { [name]: read(value[name], `${at}.${name}`) }
  const model = value.model === undefined ? undefined : readModel(value.model, value.variant, at)
  return {
    ...member('name', readString),
    ...member('description', readString),
    ...member('mode', readMode),
    ...member('hidden', readBoolean),
    ...member('color', readColor),
    ...member('system', readString),
    ...member('steps', readSteps),
    ...member('disabled', readBoolean),
    ...member('permissions', readRules),
    ...member('request', readRequest),
    ...(model !== undefined && { model }),
  }
}

function reportUnknown(value: object, members: readonly string[], onProblem: (problem: string) => void): void {
  const unknown = Object.keys(value).filter((key) => !members.includes(key))
  if (unknown.length === 0) return
  const named = members.filter((key) => ![...OLDER_KEYS, ...SILENT_KEYS].includes(key)).join(', ')
  onProblem(`unknown keys: ${unknown.slice(0, MAX_NAMED).join(', ')} (known keys: ${named})`)
}

function readOrReport<T>(onProblem: (problem: string) => void, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    onProblem(error.message)
    return undefined
  }
}

function readString(value: unknown, at: string): string {
  if (typeof value !== 'string') throw new DocumentError(`${at} is not a string`)
  return value
}

function readBoolean(value: unknown, at: string): boolean {
  if (typeof value !== 'boolean') throw new DocumentError(`${at} is neither true nor false`)
  return value
}

function readSteps(value: unknown, at: string): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) < 2 ** 31) return Number(value)
  throw new DocumentError(`${at} is not an integer of 1 or more`)
}

function readMode(value: unknown, at: string): Mode {
  const mode = typeof value === 'string' && Object.hasOwn(MODES, value) ? MODES[value] : undefined
  if (mode !== undefined) return mode
  throw new DocumentError(`${at} is not primary, subagent or all`)
}

function readColor(value: unknown, at: string): string {
  if (typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value)) return value
  throw new DocumentError(`${at} is not of the form #rrggbb`)
}

// `provider/model#variant`: split at the first slash, then at the number sign.
function readModel(value: unknown, variant: unknown, at: string): ModelRef {
  const match = typeof value === 'string' ? /^([^/#]+)\/([^#]+)(?:#(.+))?$/.exec(value) : null
  if (match === null) throw new DocumentError(`${at}.model is not of the form provider/model`)
  const [, providerId = '', modelId = '', suffix = ''] = match
  const named = typeof variant === 'string' ? variant : suffix
  return create(ModelRefSchema, { providerId, modelId, variant: named || undefined })
}

function readRules(value: unknown, at: string): readonly PermissionRule[] {
  if (!Array.isArray(value)) throw new DocumentError(`${at} is not a list`)
  return value.map((rule: unknown, index) => {
    const effect = isObject(rule) ? rule.effect : undefined
    if (!isObject(rule) || typeof effect !== 'string' || !Object.hasOwn(EFFECTS, effect)) {
      throw new DocumentError(`${at}[${index}] is not a rule with the effect allow, deny or ask`)
    }
    const action = readString(rule.action, `${at}[${index}].action`)
    const resource = readString(rule.resource, `${at}[${index}].resource`)
    return create(PermissionRuleSchema, { action, resource, effect: EFFECTS[effect] })
  })
}

function readRequest(value: unknown, at: string): Partial<RequestOverlay> {
  if (!isObject(value)) throw new DocumentError(`${at} is not an object`)
  const part = (name: string): JsonObject => {
    const member = value[name] ?? {}
    if (!isObject(member) || !isJson(member)) throw new DocumentError(`${at}.${name} is not a JSON object`)
    if (isDeeperThan(member)) throw new DocumentError(`${at}.${name} is nested more than ${MAX_LEVELS} levels deep`)
    return member
  }
  const headers = Object.entries(part('headers')).map(([name, text]) => [
    name,
    readString(text, `${at}.headers.${name}`),
  ])
  return { headers: Object.fromEntries(headers), body: part('body'), settings: part('settings') }
}
