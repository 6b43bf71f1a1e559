import { isObject } from '#shared/json.ts'

/** Keys of the current form. */
export const AGENT_KEYS: readonly string[] =
  'name model variant request system description mode hidden color steps disabled permissions'.split(' ')
const KEYS = new Set(AGENT_KEYS)
const LEGACY_KEYS = new Set('prompt tools permission disable options maxSteps'.split(' '))
// One permission action covers every tool that changes files.
const EDITING_TOOLS = new Set(['write', 'edit', 'patch', 'multiedit'])

/** A rule of the current form that was not checked yet. */
interface UncheckedRule {
  readonly action: string
  readonly resource: string
  readonly effect: unknown
}

/** Whether front matter has keys that only the older form knows, or that are unknown. */
export function isLegacy(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(fields).some((key) => !KEYS.has(key))
}

/**
 * Converts the older form of an agent to the current one: `prompt`, `disable`, `maxSteps`, `tools` (name → on or off)
 * and `permission` (action → effect, or → pattern → effect) get their current names; `options` and every unknown key
 * (`temperature`, `top_p`, …) are moved to the body of the provider request. A named color has no current form.
 */
export function fromLegacy(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const present: Record<string, unknown> = {}
  const body: Record<string, unknown> = { ...(isObject(fields.options) && fields.options) }
  for (const [key, value] of Object.entries(fields)) {
    if (KEYS.has(key)) present[key] = value
    else if (!LEGACY_KEYS.has(key)) body[key] = value
  }
  if (typeof present.color === 'string' && !present.color.startsWith('#')) delete present.color
  const request = isObject(fields.request) ? fields.request : {}
  return {
    ...present,
    system: present.system ?? fields.prompt,
    disabled: present.disabled ?? fields.disable,
    steps: present.steps ?? fields.maxSteps,
    permissions: rulesOf(fields),
    request: { ...request, body: { ...body, ...(isObject(request.body) && request.body) } },
  }
}

/**
 * Converts the older keys of a configuration document: entries of `agent` become entries of `agents`, whose own members
 * win, and `tools` and `permission` become rules before those of `permissions`.
 */
export function fromLegacyDocument(fields: Readonly<Record<string, unknown>>): {
  readonly agents: Readonly<Record<string, unknown>>
  readonly permissions: unknown
} {
  const agent = isObject(fields.agent) ? fields.agent : {}
  const agents = isObject(fields.agents) ? fields.agents : {}
  const converted = Object.entries(agent).map(([id, older]) => {
    const current = Object.hasOwn(agents, id) ? agents[id] : {}
    return [id, isObject(older) && isObject(current) ? fromLegacy({ ...older, ...current }) : undefined]
  })
  return { agents: { ...agents, ...Object.fromEntries(converted) }, permissions: rulesOf(fields) }
}

// Parts that are not understood stay where they are, so that the parser of rules refuses them.
function rulesOf({ tools, permission, permissions }: Readonly<Record<string, unknown>>): unknown {
  const rules = [...toolRules(tools ?? {}), ...permissionRules(permission)]
  if (permissions === undefined || permissions === null) return rules
  return Array.isArray(permissions) ? [...rules, ...permissions] : permissions
}

function toolRules(tools: unknown): UncheckedRule[] {
  if (!isObject(tools)) return ruleOf('*', '*', undefined)
  const effects = new Map<unknown, unknown>([
    [true, 'allow'],
    [false, 'deny'],
  ])
  return Object.entries(tools).flatMap(([tool, on]) =>
    ruleOf(EDITING_TOOLS.has(tool) ? 'edit' : tool, '*', effects.get(on)),
  )
}

function permissionRules(permission: unknown): UncheckedRule[] {
  if (permission === undefined) return []
  if (!isObject(permission)) return ruleOf('*', '*', permission)
  return Object.entries(permission).flatMap(([action, value]) => {
    const patterns = isObject(value) ? Object.entries(value) : [['*', value] as const]
    return patterns.flatMap(([resource, effect]) => ruleOf(action, resource, effect))
  })
}

// The older form names tools of MCP servers as `server_tool`, also by patterns; rules have the resource `server/tool`.
// Such a tool has no resource of its own there, so a rule for some resources is not about it.
function ruleOf(action: string, resource: string, effect: unknown): UncheckedRule[] {
  const rule = { action, resource, effect }
  if (action === '*' || resource !== '*' || !/[_*]/.test(action)) return [rule]
  return [rule, { ...rule, action: 'mcp', resource: action.replaceAll('_', '?') }]
}
