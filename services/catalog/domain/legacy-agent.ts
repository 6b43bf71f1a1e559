import { isObject } from '#shared/json.ts'
import type { PermissionRule } from './agent.ts'

/** Keys of the current form. */
export const AGENT_KEYS: readonly string[] =
  'name model variant request system description mode hidden color steps disabled permissions'.split(' ')
const KEYS = new Set(AGENT_KEYS)
const LEGACY_KEYS = new Set('prompt tools permission disable options maxSteps'.split(' '))
// One permission action covers every tool that changes files.
const EDITING_TOOLS = new Set(['write', 'edit', 'patch', 'multiedit'])

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
  const rules = [...toolRules(fields.tools), ...permissionRules(fields.permission)]
  const request = isObject(fields.request) ? fields.request : {}
  return {
    ...present,
    system: present.system ?? fields.prompt,
    disabled: present.disabled ?? fields.disable,
    steps: present.steps ?? fields.maxSteps,
    permissions: [...rules, ...(Array.isArray(fields.permissions) ? fields.permissions : [])],
    request: { ...request, body: { ...body, ...(isObject(request.body) && request.body) } },
  }
}

function toolRules(tools: unknown): PermissionRule[] {
  if (!isObject(tools)) return []
  return Object.entries(tools).map(([tool, on]) => ({
    action: EDITING_TOOLS.has(tool) ? 'edit' : tool,
    resource: '*',
    effect: on === false ? 'deny' : 'allow',
  }))
}

// Parts that are not understood stay in the rule, so that the parser of rules refuses the file.
function permissionRules(permission: unknown): PermissionRule[] {
  if (permission === undefined) return []
  if (!isObject(permission)) return [{ action: '*', resource: '*', effect: permission as 'ask' }]
  return Object.entries(permission).flatMap(([action, value]) => {
    const patterns = isObject(value) ? Object.entries(value) : [['*', value] as const]
    return patterns.map(([resource, effect]) => ({ action, resource, effect: effect as 'ask' }))
  })
}
