import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client'
import { readToolSchema, SchemaProblem } from '#services/catalog/domain/mcp/tool-schema.ts'
import { isObject, type JsonObject, type JsonValue } from '#shared/json.ts'
import { wellFormed } from '#shared/well-formed.ts'

/** Takes the result of a request as it came, but well-formed: what it holds is looked at here, and one wrong part does not spoil the rest. */
export const asItCame: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'portico', validate: (value) => ({ value: wellFormed(value) }) },
}

/** A tool of a server. */
export interface ServerTool {
  /** As the server names it. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** The tools of a server that can be offered, and the names of the others. */
export interface ServerTools {
  readonly tools: readonly ServerTool[]
  readonly omitted: readonly string[]
}

/** Most tools of one server. */
export const MAX_TOOLS = 256
const MAX_PAGES = 100
/** Names of tools that are not offered; beyond it nothing more is requested. */
const MAX_OMITTED = 10_000
const MAX_NAME = 256
const MAX_CURSOR = 4_096
const MAX_DESCRIPTION = 4_096

/**
 * Asks a server for its tools, page by page: at most 256, at most 100 pages. One whose description of itself cannot be passed on is
 * left out, and so are those that are more. Throws what the client throws, and for an answer that is none.
 */
export async function listTools(client: Client, signal: AbortSignal, timeout: number): Promise<ServerTools> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], omitted: [] }
  const tools = new Map<string, ServerTool>()
  const omitted: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && omitted.length < MAX_OMITTED; page++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } } as const
    const result: unknown = await client.request(request, asItCame, { signal, timeout })
    if (!isObject(result) || !Array.isArray(result.tools)) throw new Error('its list of tools is none')
    for (const given of result.tools) {
      const tool = tools.size < MAX_TOOLS ? readTool(given) : undefined
      if (tool !== undefined && !tools.has(tool.name)) tools.set(tool.name, tool)
      else if (omitted.length < MAX_OMITTED) omitted.push(nameOf(given) ?? '?')
    }
    const { nextCursor } = result
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break
    if (nextCursor.length > MAX_CURSOR) break
    cursor = nextCursor
  }
  return { tools: [...tools.values()], omitted }
}

// Undefined: it cannot be offered.
function readTool(given: unknown): ServerTool | undefined {
  const name = nameOf(given)
  if (name === undefined || !isObject(given) || needsTask(given.execution)) return undefined
  const { description = given.title } = given
  try {
    const inputSchema = readToolSchema(given.inputSchema as JsonValue | undefined)
    return { name, description: typeof description === 'string' ? shortened(description) : '', inputSchema }
  } catch (error) {
    if (error instanceof SchemaProblem) return undefined
    throw error
  }
}

/** A tool that only works as a task of the protocol, which is not spoken here. */
function needsTask(execution: unknown): boolean {
  return isObject(execution) && execution.taskSupport === 'required'
}

// What was not well-formed is another name now, by which the server knows nothing.
function nameOf(given: unknown): string | undefined {
  const name = isObject(given) ? given.name : undefined
  return typeof name === 'string' && /^[^\p{Cc}\ufffd]+$/u.test(name) && name.length <= MAX_NAME ? name : undefined
}

function shortened(text: string): string {
  return text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…`
}
