import type { Location, Tool } from '#gen/portico/catalog/v1/catalog_pb.js'
import { accessTo, savePatternsOf } from '#services/catalog/domain/access.ts'
import type { PreparedCall, Tools } from '#services/catalog/ports/tools.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import type { McpServer } from './mcp-server.ts'

/** A tool that is offered, and its server. */
export interface OfferedTool {
  /** The name under which it is offered. */
  readonly name: string
  readonly server: McpServer
  readonly tool: Tool
}

/**
 * The tools of a location's MCP servers at one time. A call requires permission for the action `mcp` with the resource
 * `server/tool`. Only the server checks its input.
 */
export class McpTools implements Tools {
  readonly #offered: ReadonlyMap<string, OfferedTool>

  constructor(offered: readonly OfferedTool[]) {
    this.#offered = new Map(offered.map((one) => [one.name, one]))
  }

  list(): readonly Tool[] {
    return [...this.#offered.values()].map(({ name, tool }) => ({ ...tool, name }))
  }

  async prepare(_location: Location, name: string, input: JsonObject): Promise<PreparedCall> {
    const offered = this.#offered.get(name)
    if (offered === undefined) throw new Rejection('TOOL_NOT_FOUND', { name: name.slice(0, 100) })
    const { server, tool } = offered
    const accesses = [accessTo('mcp', [`${server.entry.name}/${tool.name}`])]
    return {
      accesses,
      savePatterns: savePatternsOf(accesses),
      external: true,
      run: (signal, progress) => server.call({ tool: tool.name, input, signal, progress }),
    }
  }
}
