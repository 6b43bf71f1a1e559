import { z } from 'zod'

/** An MCP server of a location: the statuses of OpenCode's `McpStatus`, and two of a server that is not there yet. */
export const mcpServer = z
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
