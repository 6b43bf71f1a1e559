import { create } from '@bufbuild/protobuf'
import { type Agent, Agent_Mode, AgentSchema, type PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentDocument, AgentEntry } from './agent.ts'
import { ASK_ALWAYS, BUILTIN_AGENTS, DEFAULT_RULES } from './builtin-agents.ts'

export interface AgentSet {
  /** The default agent first, then in order of definition. */
  readonly agents: Agent[]
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
  const selectable = agents.filter((agent) => agent.mode !== Agent_Mode.SUBAGENT && !agent.hidden)
  const chosen =
    selectable.find((agent) => agent.agentId === configured) ??
    selectable.find((agent) => agent.agentId === 'build') ??
    selectable[0]
  if (chosen === undefined) return { agents, defaultId: undefined }
  return { agents: [chosen, ...agents.filter((agent) => agent !== chosen)], defaultId: chosen.agentId }
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

function toAgent(agentId: string, entry: AgentEntry, permissions: PermissionRule[]): Agent {
  const { name = agentId, description, mode = Agent_Mode.PRIMARY, hidden, color, system, model, steps, request } = entry
  return create(AgentSchema, {
    agentId,
    name,
    description: description || undefined,
    mode,
    hidden,
    color: color || undefined,
    system: system || undefined,
    model,
    steps: steps || undefined,
    permissions,
    requestHeaders: request?.headers,
    requestBody: request?.body ?? {},
    requestSettings: request?.settings ?? {},
  })
}

function expandHome(rules: readonly PermissionRule[], home: string): PermissionRule[] {
  return rules.map((rule) => {
    if (!HOME_ACTIONS.has(rule.action)) return rule
    return { ...rule, resource: rule.resource.replace(/^(~|\$HOME)(?=\/|$)/, () => home) }
  })
}
