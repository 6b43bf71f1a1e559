import { Code, ConnectError } from '@connectrpc/connect'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { type Routes, route } from '#shared/routes.ts'
import type { Agents, Locations } from './ports.ts'
import { reasons } from './reasons.ts'
import { getAgent } from './rpc/get-agent.ts'
import { listAgents } from './rpc/list-agents.ts'
import { resolveLocation } from './rpc/resolve-location.ts'

/** What the handlers need. */
export interface HandlerDependencies {
  readonly locations: Locations
  readonly agents: Agents
}

const unserved = (): never => {
  throw new ConnectError('Not served', Code.Unimplemented)
}

/** The routes of the catalog service. */
export function catalogRoutes(dependencies: HandlerDependencies): Routes {
  const implementation = {
    resolveLocation: resolveLocation(dependencies),
    listAgents: listAgents(dependencies),
    getAgent: getAgent(dependencies),
    listTools: unserved,
    readAttachment: unserved,
    prepareTool: unserved,
    runTool: unserved,
    endTools: unserved,
  }
  return { domain: 'catalog', reasons, services: [route(CatalogService, implementation)] }
}
