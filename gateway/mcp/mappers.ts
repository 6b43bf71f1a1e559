import { type McpServer, McpServer_Status as Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import type { mcpServer } from './schemas.ts'

const statuses = enumTable({
  connected: Status.CONNECTED,
  disabled: Status.DISABLED,
  failed: Status.FAILED,
  needs_auth: Status.NEEDS_AUTH,
  idle: Status.IDLE,
  starting: Status.STARTING,
})

export function fromMcpServer({
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
    ...(omittedCount > 0 && { omitted: { count: omittedCount, names: omittedTools } }),
  }
}
