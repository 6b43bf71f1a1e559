import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { Attachments } from './ports/attachments.ts'
import type { Locations } from './ports/locations.ts'
import type { McpServers } from './ports/mcp-servers.ts'
import type { PluginPackages } from './ports/plugin-packages.ts'
import { reasons } from './reasons.ts'
import { checkPlugins } from './rpc/check-plugins.ts'
import { editPrompt } from './rpc/edit-prompt.ts'
import { endTools } from './rpc/end-tools.ts'
import { getAgent } from './rpc/get-agent.ts'
import { getSkill } from './rpc/get-skill.ts'
import { listAgents } from './rpc/list-agents.ts'
import { listHooks } from './rpc/list-hooks.ts'
import { listMcpServers } from './rpc/list-mcp-servers.ts'
import { listPlugins } from './rpc/list-plugins.ts'
import { listSkills } from './rpc/list-skills.ts'
import { listTools } from './rpc/list-tools.ts'
import { prepareTool } from './rpc/prepare-tool.ts'
import { readAttachment } from './rpc/read-attachment.ts'
import { reloadLocations } from './rpc/reload-locations.ts'
import { resolveLocation } from './rpc/resolve-location.ts'
import { runTool } from './rpc/run-tool.ts'
import { streamEvents } from './rpc/stream-events.ts'
import { updatePlugins } from './rpc/update-plugins.ts'
import type { OpenLocations } from './run/open-locations.ts'
import type { ToolCalls } from './run/tool-calls.ts'

/** What the handlers need. */
export interface HandlerDependencies {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly attachments: Attachments
  readonly calls: ToolCalls
  readonly mcpServers: McpServers
  readonly packages: PluginPackages
}

/** The routes of the catalog service. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const catalog = route(CatalogService, {
    resolveLocation: resolveLocation(dependencies),
    reloadLocations: reloadLocations(dependencies),
    listAgents: listAgents(dependencies),
    getAgent: getAgent(dependencies),
    getSkill: getSkill(dependencies),
    listSkills: listSkills(dependencies),
    listMcpServers: listMcpServers(dependencies),
    listTools: listTools(dependencies),
    listPlugins: listPlugins(dependencies),
    checkPlugins: checkPlugins(dependencies),
    updatePlugins: updatePlugins(dependencies),
    listHooks: listHooks(dependencies),
    editPrompt: editPrompt(dependencies),
    readAttachment: readAttachment(dependencies),
    prepareTool: prepareTool(dependencies),
    runTool: runTool(dependencies),
    endTools: endTools(dependencies),
    streamEvents: streamEvents(dependencies),
  })
  return { domain: 'catalog', reasons, services: [catalog] }
}
