import { McpServer_Status as Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import { isObject } from '#shared/json.ts'
import { type ConfigurationDocument, untrustedProblem } from '../configuration.ts'

/** Where an MCP server is. */
export type McpTarget =
  | {
      readonly type: 'local'
      /** Program and arguments. */
      readonly command: readonly string[]
      readonly environment: Readonly<Record<string, string>>
      /** Directory that it runs in, relative to the location or absolute; undefined: the location. */
      readonly cwd: string | undefined
    }
  | { readonly type: 'remote'; readonly url: string; readonly headers: Readonly<Record<string, string>> }

/** An entry of the configuration for an MCP server that may run, is disabled, or cannot be used as it is. */
export type McpEntry =
  | {
      readonly type: 'usable'
      readonly name: string
      readonly target: McpTarget
      /** For its start, for the list of its tools, and for the silence of a call; undefined: the entry sets none. */
      readonly timeoutMs: number | undefined
    }
  | { readonly type: 'disabled'; readonly name: string }
  | {
      readonly type: 'refused'
      readonly name: string
      readonly status: Status.FAILED | Status.NEEDS_AUTH
      readonly problem: string
    }

/** An entry for a server that may run. */
export type UsableEntry = Extract<McpEntry, { readonly type: 'usable' }>

/**
 * Maximum number of servers of a location, both from trusted documents and from others; as many more are listed as
 * refused.
 */
const MAX_SERVERS = 50
const MAX_WORDS = 200
const MAX_CHARACTERS = 32 << 10
const MAX_TIMEOUT_MS = 3_600_000

/**
 * A part of the name of a permission resource (`server/tool`), which must identify one server and must not be a
 * pattern.
 */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

type Fields = Readonly<Record<string, unknown>>

interface Configured {
  readonly value: Fields
  readonly document: ConfigurationDocument
  readonly enabled: boolean
}

/**
 * Reads the MCP servers in documents (`mcp`), lowest precedence first. A later entry replaces an earlier one of the
 * same name; one that only has `enabled` turns it on or off. Untrusted documents cannot affect servers of trusted ones:
 * whoever opens somebody else's project keeps their own servers. A malformed entry, or one in an untrusted document, is
 * refused, and the others remain.
 */
export function readMcpEntries(documents: readonly ConfigurationDocument[]): McpEntry[] {
  const all = new Map<string, Configured | undefined>()
  for (const document of documents) {
    const { mcp } = document.value
    for (const [name, value] of Object.entries(isObject(mcp) ? mcp : {}))
      all.set(name, overlay(all.get(name), value, document))
  }
  let trusted = 0
  let others = 0
  return [...all].flatMap(([name, entry]): McpEntry[] => {
    const place = entry?.document.trusted ? trusted++ : others++
    if (place >= 2 * MAX_SERVERS) return []
    if (place < MAX_SERVERS) return [toEntry(name, entry)]
    return [refuse(name.slice(0, 64), `a location has at most ${MAX_SERVERS} MCP servers`)]
  })
}

function overlay(
  before: Configured | undefined,
  value: unknown,
  document: ConfigurationDocument,
): Configured | undefined {
  if (before?.document.trusted && !document.trusted) return before
  if (!isObject(value)) return undefined
  const { enabled } = value
  if (value.type !== undefined || typeof enabled !== 'boolean') return { value, document, enabled: enabled !== false }
  if (before === undefined) return { value, document, enabled }
  return { ...before, enabled }
}

function toEntry(name: string, configured: Configured | undefined): McpEntry {
  if (!NAME.test(name)) return refuse(name.slice(0, 64), 'its name must be 1 to 64 letters, digits, spaces and . _ @ -')
  if (configured === undefined) return refuse(name, 'it must be an object')
  const { value, document, enabled } = configured
  if (!enabled) return { type: 'disabled', name }
  const form = readForm(value)
  if (typeof form === 'string') return refuse(name, `${document.path}: ${form}`)
  if (!document.trusted) return refuse(name, untrustedProblem(document.path))
  const [, unset] = /\{env:([^{}]*)\}/.exec(JSON.stringify(value)) ?? []
  if (unset !== undefined) return refuse(name, `${document.path}: the environment variable ${unset} is not set`)
  if (isObject(value.oauth)) {
    return refuse(name, 'OAuth is not supported: give the server a token in `headers`', Status.NEEDS_AUTH)
  }
  return { type: 'usable', name, ...form }
}

/** Reads the members of an entry, or says what is wrong with its form. */
function readForm(value: Fields): Pick<UsableEntry, 'target' | 'timeoutMs'> | string {
  const { timeout, enabled } = value
  if (enabled !== undefined && typeof enabled !== 'boolean') return '`enabled` must be true or false'
  if (timeout !== undefined && !isTimeout(timeout)) return `\`timeout\` must be milliseconds, 1 to ${MAX_TIMEOUT_MS}`
  if (JSON.stringify(value).length > MAX_CHARACTERS) return `it has more than ${MAX_CHARACTERS} characters`
  const target = readTarget(value)
  return typeof target === 'string' ? target : { target, timeoutMs: timeout }
}

function readTarget(value: Fields): McpTarget | string {
  if (value.type === 'local') return readLocal(value)
  if (value.type === 'remote') return readRemote(value)
  return '`type` must be "local" or "remote"'
}

function readLocal({ command, environment = {}, cwd }: Fields): McpTarget | string {
  const words: unknown[] = Array.isArray(command) ? command : []
  if (words.length === 0 || words.length > MAX_WORDS || !words.every(isText)) {
    return `\`command\` must be an array of 1 to ${MAX_WORDS} strings`
  }
  if (/^(-|$)/.test(words[0] ?? '')) return '`command` must begin with a program'
  if (cwd !== undefined && !isText(cwd)) return '`cwd` must be a string'
  if (!isStrings(environment) || !Object.keys(environment).every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))) {
    return '`environment` must map names of variables to strings'
  }
  return { type: 'local', command: words, environment, cwd }
}

function readRemote({ url, headers = {} }: Fields): McpTarget | string {
  const { protocol, username, password } = (typeof url === 'string' && URL.parse(url)) || {}
  if (typeof url !== 'string' || !/^https?:$/.test(protocol ?? '')) return '`url` must be an http:// or https:// URL'
  if (username || password) return '`url` must not contain a user or a password: use `headers`'
  const isHeader = ([name, text]: [string, string]) => HEADER_NAME.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
  if (!isStrings(headers) || !Object.entries(headers).every(isHeader)) {
    return '`headers` must map names of headers to strings of one line'
  }
  return { type: 'remote', url, headers }
}

function isTimeout(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_TIMEOUT_MS
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}

function isStrings(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every(isText)
}

function refuse(name: string, problem: string, status: Status.FAILED | Status.NEEDS_AUTH = Status.FAILED): McpEntry {
  return { type: 'refused', name, status, problem }
}
