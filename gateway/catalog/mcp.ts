import { z } from 'zod'
import { type McpServer, McpServer_Status as Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'

/** An MCP server of a location: the statuses of OpenCode's `McpStatus`, and two of a server that is not there yet. */
const mcpServer = z
  .strictObject({
    name: z.string(),
    status: z.enum(['connected', 'disabled', 'failed', 'needs_auth', 'idle', 'starting']).meta({
      description:
        '`idle`: it starts when it is needed. `failed`: it cannot be used, or is unavailable and will be tried again',
    }),
    error: z.string().optional().meta({ description: 'The reason, for `failed` and `needs_auth`' }),
    tools: z.int().min(0).meta({ description: 'How many of its tools agents are offered' }),
    omitted: z
      .strictObject({
        count: z.int().min(1),
        names: z.array(z.string()).meta({ description: 'The first 20' }),
      })
      .optional()
      .meta({
        description: 'Its tools that are not offered, because there is no room or something is wrong with them',
      }),
  })
  .meta({ id: 'Mcp.Server' })

const statuses = enumTable({
  connected: Status.CONNECTED,
  disabled: Status.DISABLED,
  failed: Status.FAILED,
  needs_auth: Status.NEEDS_AUTH,
  idle: Status.IDLE,
  starting: Status.STARTING,
})

function fromMcpServer({
  name,
  status,
  error,
  toolCount,
  omittedTools,
  omittedCount,
}: McpServer): JsonOf<typeof mcpServer> {
  return {
    name,
    status: statuses.fromProto(status) ?? 'failed',
    error,
    tools: toolCount,
    omitted: omittedCount > 0 ? { count: omittedCount, names: omittedTools } : undefined,
  }
}

export const listMcpServers = operation({
  id: 'mcp.list',
  method: 'get',
  path: '/api/mcp',
  summary: 'MCP servers of a location, usable or not; those that may run are started',
  query: locationQuery,
  headers: locationHeaders,
  answer: z.strictObject({ location: locationRef, data: z.array(mcpServer) }),
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.listMcpServers({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location, servers }) => ({ location: fromLocationRef(location), data: servers.map(fromMcpServer) }),
})
