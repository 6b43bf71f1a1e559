import { z } from 'zod'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromMcpServer } from './mappers.ts'
import { mcpServer } from './schemas.ts'

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
