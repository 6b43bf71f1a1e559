import { create } from '@bufbuild/protobuf'
import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client'
import { type Tool, ToolSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { readToolSchema, SchemaProblem } from '#services/catalog/domain/mcp/tool-schema.ts'
import { isObject } from '#shared/json.ts'
import { wellFormed } from '#shared/well-formed.ts'

/** Accepts any result, made well-formed: its content is checked here, so that one bad part does not spoil the rest. */
export const asItCame: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'portico', validate: (value) => ({ value: wellFormed(value) }) },
}

/** The tools of a server that can be offered, under the server's names for them, and the names of the others. */
export interface ServerTools {
  readonly tools: readonly Tool[]
  readonly omitted: readonly string[]
}

/** Maximum number of tools of one server. */
export const MAX_TOOLS = 256
const MAX_PAGES = 100
/** Maximum number of names of tools that are not offered; beyond it, no further page is requested. */
const MAX_OMITTED = 10_000
const MAX_NAME = 256
const MAX_CURSOR = 4_096
const MAX_DESCRIPTION = 4_096

/**
 * Lists a server's tools, page by page: at most 256 tools, at most 100 pages. A tool whose description cannot be passed
 * on is left out, and so are those beyond the limit. Throws what the client throws, and an error for an invalid
 * response.
 */
export async function listTools(client: Client, signal: AbortSignal, timeout: number): Promise<ServerTools> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], omitted: [] }
  const tools = new Map<string, Tool>()
  const omitted: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && omitted.length < MAX_OMITTED; page++) {
    const request = { method: 'tools/list', params: { cursor } } as const
    const result: unknown = await client.request(request, asItCame, { signal, timeout })
    if (!isObject(result) || !Array.isArray(result.tools)) throw new Error('its list of tools is invalid')
    for (const item of result.tools) {
      const tool = tools.size < MAX_TOOLS ? readTool(item) : undefined
      if (tool !== undefined && !tools.has(tool.name)) tools.set(tool.name, tool)
      else if (omitted.length < MAX_OMITTED) omitted.push(nameOf(item) ?? '?')
    }
    const { nextCursor } = result
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break
    if (nextCursor.length > MAX_CURSOR) break
    cursor = nextCursor
  }
  return { tools: [...tools.values()], omitted }
}

// Undefined: it cannot be offered.
function readTool(item: unknown): Tool | undefined {
  const name = nameOf(item)
  if (name === undefined || !isObject(item) || needsTask(item.execution)) return undefined
  const { description = item.title } = item
  try {
    const inputSchema = readToolSchema(item.inputSchema)
    const text = typeof description === 'string' ? shorten(description) : ''
    return create(ToolSchema, { name, description: text, inputSchema })
  } catch (error) {
    if (error instanceof SchemaProblem) return undefined
    throw error
  }
}

/** Whether a tool only works as one of the protocol's tasks, which are not supported here. */
function needsTask(execution: unknown): boolean {
  return isObject(execution) && execution.taskSupport === 'required'
}

// A name that was not well-formed has changed, and the server does not know it.
function nameOf(item: unknown): string | undefined {
  const name = isObject(item) ? item.name : undefined
  return typeof name === 'string' && /^[^\p{Cc}\ufffd]+$/u.test(name) && name.length <= MAX_NAME ? name : undefined
}

function shorten(text: string): string {
  return text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…`
}
