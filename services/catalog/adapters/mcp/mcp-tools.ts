import { hash } from 'node:crypto'
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

const MAX_LENGTH = 64
const MAX_SERVER = 20
const MAX_TOOL = 24
const HASH_DIGITS = 16

/**
 * The name under which a tool of a server is offered: one that providers accept (`^[a-zA-Z0-9_-]{1,64}$`), the same in
 * every process, and unique among all servers. If possible it is `server_tool`, where the first underscore ends the
 * server's name. Otherwise there are two underscores, and a hash of both names at the end.
 */
export function toolNameOf(server: string, tool: string): string {
  const plain = `${server}_${tool}`
  if (plain.length <= MAX_LENGTH && /^[A-Za-z0-9-]+$/.test(server) && /^[A-Za-z0-9-][A-Za-z0-9_-]*$/.test(tool))
    return plain
  const digits = hash('sha256', `${server}\0${tool}`, 'hex').slice(0, HASH_DIGITS)
  const part = tool.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, MAX_TOOL)
  return `${server.replace(/[^A-Za-z0-9-]/g, '-').slice(0, MAX_SERVER)}__${part}_${digits}`
}
