import type { Agent, AgentDocument, AgentEntry, PermissionRule } from './agent.ts'
import { ASK_ALWAYS, BUILTIN_AGENTS, DEFAULT_RULES } from './builtin-agents.ts'

/** The agents of a location. */
export interface AgentSet {
  /** The default agent first, then in order of definition. */
  readonly agents: readonly Agent[]
  /** Undefined if no agent can be a session's. */
  readonly defaultId: string | undefined
}

const HOME_ACTIONS = new Set(['read', 'edit', 'external_directory'])

/**
 * Merges the built-in agents and documents, lowest precedence first. Members of a later document replace those of an
 * earlier one; request overlays are merged by name. Rules are concatenated in this order: defaults, those for tools of
 * plugins, the built-in agent, every document's rules for all agents, every document's rules for this agent. A disabled
 * agent is removed. The default agent is the configured one if it can be a session's agent, else `build`, else the
 * first that can.
 */
export function mergeAgents(
  documents: readonly AgentDocument[],
  home: string,
  ofPlugins: readonly PermissionRule[] = [],
): AgentSet {
  const merged = new Map<string, AgentEntry>()
  const own = new Map<string, PermissionRule[]>()
  for (const { agents, malformed = [] } of documents) {
    for (const [id, entry] of agents) {
      merged.set(id, mergeEntry(merged.get(id) ?? BUILTIN_AGENTS.get(id) ?? {}, entry))
      own.set(id, [...(own.get(id) ?? []), ...(entry.permissions ?? [])])
    }
    for (const id of malformed) own.set(id, [...(own.get(id) ?? []), ASK_ALWAYS])
  }
  const general = documents.flatMap((document) => document.permissions)
  const agents = [...new Set([...BUILTIN_AGENTS.keys(), ...merged.keys()])].flatMap((id) => {
    const entry = merged.get(id) ?? BUILTIN_AGENTS.get(id) ?? {}
    if (entry.disabled === true) return []
    const builtin = BUILTIN_AGENTS.get(id)?.permissions ?? []
    const rules = [...DEFAULT_RULES, ...ofPlugins, ...builtin, ...general, ...(own.get(id) ?? [])]
    return [toAgent(id, entry, expandHome(rules, home))]
  })
  const configured = documents.findLast((document) => document.defaultAgent !== undefined)?.defaultAgent
  const selectable = agents.filter((agent) => agent.mode !== 'subagent' && !agent.hidden)
  const chosen =
    selectable.find((agent) => agent.id === configured) ??
    selectable.find((agent) => agent.id === 'build') ??
    selectable[0]
  if (chosen === undefined) return { agents, defaultId: undefined }
  return { agents: [chosen, ...agents.filter((agent) => agent !== chosen)], defaultId: chosen.id }
}

function mergeEntry(earlier: AgentEntry, later: AgentEntry): AgentEntry {
  return {
    ...earlier,
    ...later,
    request: {
      headers: { ...earlier.request?.headers, ...later.request?.headers },
      body: { ...earlier.request?.body, ...later.request?.body },
      settings: { ...earlier.request?.settings, ...later.request?.settings },
    },
  }
}

function toAgent(id: string, entry: AgentEntry, permissions: readonly PermissionRule[]): Agent {
  return {
    id,
    name: entry.name ?? id,
    description: entry.description || undefined,
    mode: entry.mode ?? 'primary',
    hidden: entry.hidden ?? false,
    color: entry.color || undefined,
    system: entry.system || undefined,
    model: entry.model,
    steps: entry.steps || undefined,
    permissions,
    request: {
      headers: entry.request?.headers ?? {},
      body: entry.request?.body ?? {},
      settings: entry.request?.settings ?? {},
    },
  }
}

function expandHome(rules: readonly PermissionRule[], home: string): PermissionRule[] {
  return rules.map((rule) => {
    if (!HOME_ACTIONS.has(rule.action)) return rule
    return { ...rule, resource: rule.resource.replace(/^(~|\$HOME)(?=\/|$)/, () => home) }
  })
}
