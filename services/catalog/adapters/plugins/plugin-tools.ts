import { create } from '@bufbuild/protobuf'
import { type Location, type Tool, ToolSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { accessTo, savePatternsOf } from '#services/catalog/domain/access.ts'
import { failed, type ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'
import type { CallIdentity, PreparedCall, Tools } from '#services/catalog/ports/tools.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { PluginFailed } from './plugin-context.ts'
import { readResult } from './plugin-messages.ts'
import { RunEnded, ThrownByPlugin } from './plugin-run.ts'
import type { NamedTool } from './plugin-set.ts'

/** Longest silence of a call, which its reports interrupt, and its maximum time, however much it reports. */
const SILENCE_MS = 120_000
const LIMIT_MS = 600_000
const MAX_PROBLEM = 500

/** The tools of a location's plugins, as they were registered. */
export class PluginTools implements Tools {
  readonly #tools: ReadonlyMap<string, NamedTool>
  readonly #descriptions: readonly Tool[]
  readonly #validateMs: number

  constructor(tools: readonly NamedTool[], validateMs: number) {
    this.#tools = new Map(tools.map((offered) => [offered.name, offered]))
    this.#descriptions = tools.map(({ name, tool: { description, inputSchema } }) =>
      create(ToolSchema, { name, description, inputSchema }),
    )
    this.#validateMs = validateMs
  }

  list(): readonly Tool[] {
    return this.#descriptions
  }

  async prepare(location: Location, name: string, input: JsonObject): Promise<PreparedCall> {
    const offered = this.#tools.get(name)
    if (offered === undefined) throw new Rejection('TOOL_NOT_FOUND', { name: name.slice(0, 100) })
    const { plugin, tool } = offered
    await this.#validate(offered, input)
    const accesses = [accessTo(tool.permission ?? name, [plugin.registration?.id ?? plugin.declared.key])]
    return {
      accesses,
      savePatterns: savePatternsOf(accesses),
      external: true,
      run: (signal, progress, identity) => run(offered, location, input, { signal, progress, identity }),
    }
  }

  /** In the plugin's own thread, so that a schema that takes for ever affects nobody else. */
  async #validate({ name, plugin, tool }: NamedTool, input: JsonObject): Promise<void> {
    const waitMs = 2 * this.#validateMs
    const limit = { signal: AbortSignal.timeout(waitMs), limitMs: this.#validateMs }
    const problem = await plugin.call('validate', { tool: tool.name, input }, limit).catch((error: unknown) => {
      const late = limit.signal.aborted ? `The plugin was not there within ${waitMs / 1_000} s` : undefined
      const ended = late ?? (error instanceof RunEnded ? error.message : undefined)
      const problem = ended === undefined ? problemOf(error) : `${ended}; the call was not begun`
      throw new Rejection('TOOL_UNAVAILABLE', { name, problem: cutShort(problem) })
    })
    if (problem === null) return
    throw new Rejection('TOOL_INPUT_INVALID', { name, problem: cutShort(String(problem)) })
  }
}

interface RunOptions {
  readonly signal: AbortSignal
  readonly progress: (metadata: JsonObject) => void
  readonly identity: CallIdentity
}

async function run(
  { plugin, tool }: NamedTool,
  { directory }: Location,
  input: JsonObject,
  { signal, progress, identity }: RunOptions,
): Promise<ToolOutcome> {
  const { sessionId: sessionID, callId: callID } = identity
  using _ = await plugin.places.take(signal)
  const over = new AbortController()
  const endFor = (problem: string): void => over.abort(new Error(problem))
  const limit = setTimeout(endFor, LIMIT_MS, `It took longer than ${LIMIT_MS / 1_000} s and was ended`)
  const listen = (): NodeJS.Timeout =>
    setTimeout(endFor, SILENCE_MS, `It was silent for more than ${SILENCE_MS / 1_000} s and was ended`)
  let silence = listen()
  const report = (metadata: JsonObject): void => {
    clearTimeout(silence)
    silence = listen()
    progress(metadata)
  }
  try {
    const call = { tool: tool.name, input, directory, sessionID, callID }
    const options = { signal: AbortSignal.any([signal, over.signal]), progress: report }
    return readResult(await plugin.call('tool', call, options))
  } catch (error) {
    signal.throwIfAborted()
    if (over.signal.aborted) return failed('timeout', over.signal.reason.message)
    if (error instanceof ThrownByPlugin) return failed('plugin', error.message)
    if (error instanceof TypeError) return failed('plugin', `What the tool returned cannot be used: ${error.message}`)
    return failed('plugin_ended', problemOf(error))
  } finally {
    clearTimeout(limit)
    clearTimeout(silence)
  }
}

function problemOf(error: unknown): string {
  if (error instanceof PluginFailed) return `The plugin has failed: ${error.message}`
  if (error instanceof RunEnded) return `${error.message}; what the call has done is unknown`
  if (error instanceof ThrownByPlugin) return error.message
  return `The plugin is not available: ${error instanceof Error ? error.message : String(error)}`
}

function cutShort(problem: string): string {
  return problem.slice(0, MAX_PROBLEM).toWellFormed()
}
