/** Members that describe a record without its content. */
const KEPT: ReadonlySet<string> = new Set([
  ...['id', 'type', 'parentID', 'projectID', 'sessionID', 'messageID', 'shellID', 'skill', 'agent', 'providerID'],
  ...['variant', 'status', 'outcome', 'finish', 'reason', 'effect', 'mime'],
])
/** Members with arbitrary data of a client, a tool or a provider. */
const FREE: ReadonlySet<string> = new Set([
  ...['metadata', 'state', 'providerState', 'providerResultState', 'providerContext', 'input'],
])

interface Owner {
  /** What is redacted: the type of a message, or `session`. */
  readonly kind: string
  readonly id: string
}

type Members = Readonly<Record<string, unknown>>

/** A session without what was said in it. */
export function sanitizeSession(session: object): object {
  const { id } = session as { readonly id: string }
  return sanitizeMembers(session as Members, { kind: 'session', id })
}

/** A message without what it says. */
export function sanitizeMessage(message: object): object {
  const { id, type } = message as { readonly id: string; readonly type: string }
  return sanitizeMembers(message as Members, { kind: type, id })
}

function sanitizeMembers(object: Members, owner: Owner): Members {
  const members = Object.entries(object).map(([name, value]) => [name, sanitize(name, value, object, owner)])
  return Object.fromEntries(members)
}

function sanitize(name: string, value: unknown, holder: Members, owner: Owner): unknown {
  if (typeof value === 'string') return sanitizeText(name, value, holder, owner)
  if (Array.isArray(value)) return value.map((item) => sanitize(name, item, holder, owner))
  if (typeof value !== 'object' || value === null) return value
  if (name === 'source') return { type: 'inline' }
  if (!isProviderData(name, holder)) return sanitizeMembers(value as Members, owner)
  return Object.keys(value).length === 0 ? {} : { redacted: `${owner.kind}-${name}:${owner.id}` }
}

/** Whether a member holds arbitrary data of a client, a tool or a provider; the state of a tool call does not. */
export function isProviderData(name: string, holder: Members): boolean {
  return FREE.has(name) && !(name === 'state' && holder.type === 'tool')
}

function sanitizeText(name: string, text: string, holder: Members, owner: Owner): string {
  const isName = (name === 'name' && holder.type === 'tool') || (name === 'previous' && 'agent' in holder)
  if (KEPT.has(name) || isName || text.trim() === '') return text
  if (name === 'data') return ''
  const redacted = `[redacted:${owner.kind}-${name}:${owner.id}]`
  return name === 'directory' ? `/${redacted}` : redacted
}
