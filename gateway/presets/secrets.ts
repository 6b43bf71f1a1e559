import { isObject, itemsOf, membersOf } from '#shared/json.ts'

/** Members with credentials, in the settings of a server or tool that a provider calls. */
const SECRETS: ReadonlySet<string> = new Set([
  ...['authorization', 'authorizationtoken', 'accesstoken', 'apikey', 'xapikey', 'headers', 'password', 'secret'],
  ...['token', 'clientsecret', 'domainsecrets', 'env'],
])
/** Its member names are the names of a server's tools. */
const BY_TOOL = 'configs'
/** Their parameters are schemas, whose member names are names of arguments. */
const OF_THE_CALLER: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom', 'namespace'])

/** The path of a secret in settings, which everybody who may use them can read; undefined: there is none. */
export function secretIn(config: object): string | undefined {
  const { mcp_servers: servers, tools } = membersOf(config)
  const hostedTools = itemsOf(tools).map((tool) => (OF_THE_CALLER.has(membersOf(tool).type) ? {} : tool))
  return find(servers, 'mcp_servers') ?? find(hostedTools, 'tools')
}

function find(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}.${name}`
    if (!Array.isArray(value) && isSecret(name) && says(member)) return at
    if (typeof member === 'string' && hasSecret(member)) return at
    const inner = name === BY_TOOL ? findAmong(member, at) : find(member, at)
    if (inner !== undefined) return inner
  }
  return undefined
}

function findAmong(configs: unknown, path: string): string | undefined {
  if (!isObject(configs)) return undefined
  for (const [name, config] of Object.entries(configs)) {
    const inner = find(config, `${path}.${name}`)
    if (inner !== undefined) return inner
  }
  return undefined
}

function isSecret(name: string): boolean {
  return SECRETS.has(name.toLowerCase().replaceAll(/[-_]/g, ''))
}

function says(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value != null && value !== ''
}

/** Whether a text is a URL that contains credentials (`https://user:password@host`, `https://host/?api_key=…`). */
function hasSecret(text: string): boolean {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return false
  const { username, password, searchParams } = new URL(text)
  return username !== '' || password !== '' || [...searchParams.keys()].some(isSecret)
}
