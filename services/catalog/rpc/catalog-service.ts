import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { Attachments } from '../ports/attachments.ts'
import type { Locations } from '../ports/locations.ts'
import type { McpServers } from '../ports/mcp-servers.ts'
import type { PluginPackages } from '../ports/plugin-packages.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import type { ToolCalls } from '../run/tool-calls.ts'
import { checkPlugins } from './check-plugins.ts'
import { editPrompt } from './edit-prompt.ts'
import { endTools } from './end-tools.ts'
import { getAgent } from './get-agent.ts'
import { getSkill } from './get-skill.ts'
import { listAgents } from './list-agents.ts'
import { listHooks } from './list-hooks.ts'
import { listMcpServers } from './list-mcp-servers.ts'
import { listPlugins } from './list-plugins.ts'
import { listSkills } from './list-skills.ts'
import { listTools } from './list-tools.ts'
import { prepareTool } from './prepare-tool.ts'
import { readAttachment } from './read-attachment.ts'
import { reloadLocations } from './reload-locations.ts'
import { resolveLocation } from './resolve-location.ts'
import { runTool } from './run-tool.ts'
import { streamEvents } from './stream-events.ts'
import { updatePlugins } from './update-plugins.ts'

/** What the handlers need. */
export interface CatalogDependencies {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly attachments: Attachments
  readonly calls: ToolCalls
  readonly mcpServers: McpServers
  readonly packages: PluginPackages
}

/** The handlers of the catalog. */
export function catalogService(dependencies: CatalogDependencies): ServiceImpl<typeof CatalogService> {
  return {
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
  }
}
