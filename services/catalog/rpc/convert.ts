import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type AgentSchema,
  type LocationSchema,
  type McpServerSchema,
  Agent_Mode as Mode,
  PermissionRule_Effect as RuleEffect,
  McpServer_Status as ServerStatus,
  type SkillSchema,
  type ToolContentSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { RunToolResponseSchema } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { CatalogEventSchema } from '#gen/portico/catalog/v1/event_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { Agent } from '../domain/agent.ts'
import type { CatalogChange, CatalogEvent } from '../domain/catalog-event.ts'
import type { Location } from '../domain/location.ts'
import type { McpServerState } from '../domain/mcp/server-state.ts'
import type { Skill } from '../domain/skill.ts'
import type { ToolContent } from '../ports/tools.ts'
import type { CallEvent } from '../run/run-call.ts'

const modes = enumTable({ primary: Mode.PRIMARY, subagent: Mode.SUBAGENT, all: Mode.ALL })
const statuses = enumTable({
  connected: ServerStatus.CONNECTED,
  idle: ServerStatus.IDLE,
  starting: ServerStatus.STARTING,
  disabled: ServerStatus.DISABLED,
  failed: ServerStatus.FAILED,
  needs_auth: ServerStatus.NEEDS_AUTH,
})
const effects = enumTable({ allow: RuleEffect.ALLOW, deny: RuleEffect.DENY, ask: RuleEffect.ASK })

export function locationToProto(location: Location): MessageInitShape<typeof LocationSchema> {
  const { id, directory, canonicalDirectory } = location.project
  return {
    directory: location.directory,
    project: { projectId: id, directory, canonicalDirectory },
    subpath: location.subpath,
  }
}

export function agentToProto(agent: Agent): MessageInitShape<typeof AgentSchema> {
  const { id, mode, permissions, request, model, ...rest } = agent
  return {
    ...rest,
    agentId: id,
    mode: modes.toProto(mode),
    permissions: permissions.map((rule) => ({ ...rule, effect: effects.toProto(rule.effect) })),
    ...(model !== undefined && { model }),
    requestHeaders: request.headers,
    requestBody: request.body,
    requestSettings: request.settings,
  }
}

export function skillToProto({ id, ...rest }: Skill): MessageInitShape<typeof SkillSchema> {
  return { ...rest, skillId: id }
}

export function mcpServerToProto(server: McpServerState): MessageInitShape<typeof McpServerSchema> {
  const { name, status, error, tools, omitted, omittedCount } = server
  return {
    name,
    status: statuses.toProto(status),
    toolCount: tools,
    omittedTools: [...omitted],
    omittedCount,
    ...(error !== undefined && { error }),
  }
}

export function callEventToProto(event: CallEvent): MessageInitShape<typeof RunToolResponseSchema> {
  if (event.type === 'progressed') return { event: { case: 'progressed', value: { metadata: event.metadata } } }
  const { metadata } = event
  const content = event.content.map(contentToProto)
  if (event.type === 'completed') return { event: { case: 'completed', value: { content, metadata } } }
  return { event: { case: 'failed', value: { type: event.kind, message: event.message, content, metadata } } }
}

function contentToProto(content: ToolContent): MessageInitShape<typeof ToolContentSchema> {
  if (content.type === 'text') return { content: { case: 'text', value: content.text } }
  const { data, mime, name } = content
  return { content: { case: 'file', value: { data: data as Uint8Array<ArrayBuffer>, mime, name } } }
}

export function eventToProto(event: CatalogEvent): MessageInitShape<typeof CatalogEventSchema> {
  const { id, timeCreated, directory } = event
  return { eventId: id, createTime: timestampFromMs(timeCreated), directory, event: changeToProto(event) }
}

function changeToProto(change: CatalogChange): NonNullable<MessageInitShape<typeof CatalogEventSchema>['event']> {
  switch (change.type) {
    case 'agents-updated':
      return { case: 'agentsUpdated', value: {} }
    case 'skills-updated':
      return { case: 'skillsUpdated', value: {} }
    case 'location-shutdown':
      return { case: 'locationShutdown', value: {} }
    case 'plugins-updated':
      return { case: 'pluginsUpdated', value: {} }
    case 'mcp-server-updated':
      return { case: 'mcpServerUpdated', value: { server: change.server } }
    case 'mcp-tools-changed':
      return { case: 'mcpToolsChanged', value: { server: change.server } }
  }
}
