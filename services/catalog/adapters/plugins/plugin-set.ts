import { isDeepStrictEqual } from 'node:util'
import {
  type EditedPrompt,
  PermissionRule_Effect,
  type PluginFailure,
  type Plugin as PluginMessage,
  type Skill,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentDocument, AgentEntry } from '#services/catalog/domain/agent.ts'
import { rule } from '#services/catalog/domain/builtin-agents.ts'
import { freeName } from '#services/catalog/domain/free-name.ts'
import {
  type HookedCall,
  type LocationNames,
  type PackageTarget,
  packageTargets,
} from '#services/catalog/domain/plugins/plugin.ts'
import {
  HOOK_NAMES,
  type HookName,
  type PluginEvent,
  type RegisteredTool,
} from '#services/catalog/domain/plugins/registration.ts'
import type { ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'
import type { Plugins } from '#services/catalog/ports/plugins.ts'
import { isObject } from '#shared/json.ts'
import { orAborted } from '#shared/or-aborted.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { promptInput, readCallChange, readInstructions, readPromptChange, readTextChange } from './hook-changes.ts'
import type { Plugin } from './plugin.ts'
import { cut, pieceOf } from './plugin-messages.ts'
import { ThrownByPlugin } from './plugin-run.ts'
import { waitAtMost } from './wait.ts'

/** A tool of a plugin, under its name in the location. */
export interface NamedTool {
  readonly name: string
  readonly plugin: Plugin
  readonly tool: RegisteredTool
}

interface Options {
  /** Names of other tools. */
  readonly taken: ReadonlySet<string>
  readonly hookMs: number
  readonly logger: Logger
}

const SETTLE_MS = 20_000

/** What the plugins of a location offer at one time. */
export class PluginSet implements Plugins {
  readonly list: PluginMessage[]
  readonly packages: readonly PackageTarget[]
  readonly hooks: ReadonlySet<HookName>
  readonly agents: AgentDocument
  readonly skills: readonly Skill[]
  readonly tools: readonly NamedTool[]
  readonly #plugins: readonly Plugin[]
  readonly #hookMs: number
  readonly #logger: Logger
  readonly #all: readonly Plugin[]

  /** `duplicates`: those whose id another one has. */
  constructor(
    plugins: readonly Plugin[],
    duplicates: ReadonlyMap<Plugin, PluginFailure>,
    { taken, hookMs, logger }: Options,
  ) {
    this.#hookMs = hookMs
    this.#logger = logger
    this.#plugins = plugins.filter((plugin) => plugin.works && !duplicates.has(plugin))
    this.#all = plugins
    this.list = plugins.map((plugin) => ({ ...plugin.info, failure: plugin.info.failure ?? duplicates.get(plugin) }))
    this.packages = packageTargets(plugins.map(({ declared }) => declared))
    this.hooks = new Set(HOOK_NAMES.filter((name) => this.#having(name).length > 0))
    this.skills = this.#plugins.flatMap(({ registration }) => registration?.skills ?? [])
    this.tools = nameTools(this.#plugins, taken)
    const agents = this.#plugins.flatMap(({ registration }) => [
      ...(registration?.agents ?? new Map<string, AgentEntry>()),
    ])
    const actions = new Set(this.tools.map(({ name, tool }) => tool.permission ?? name))
    this.agents = {
      agents: new Map(agents),
      permissions: [...actions].map((action) => rule(action, '*', PermissionRule_Effect.ASK)),
    }
  }

  async settled(signal: AbortSignal): Promise<void> {
    const settled = Promise.all(this.#all.map((plugin) => plugin.settled()))
    await orAborted(waitAtMost(settled, SETTLE_MS), signal)
  }

  async prompt(
    prompt: EditedPrompt,
    { sessionId, names }: { readonly sessionId: string; readonly names: LocationNames },
    signal: AbortSignal,
  ): ReturnType<Plugins['prompt']> {
    let current = prompt
    const changedBy: string[] = []
    for (const plugin of this.#having('prompt')) {
      const input = { ...promptInput(current), about: { sessionID: sessionId } }
      const answer = await this.#callHook(plugin, 'prompt', input, signal, (value) =>
        readPromptChange(value, current, names),
      )
      if (answer === undefined || isDeepStrictEqual(answer, current)) continue
      current = answer
      changedBy.push(idOf(plugin))
    }
    return { prompt: current, changedBy }
  }

  async beforeTool(call: HookedCall, signal: AbortSignal): Promise<HookedCall['input']> {
    let { input } = call
    for (const plugin of this.#having('tool.before')) {
      const { sessionId: sessionID, tool } = call
      const change = await this.#callHook(plugin, 'tool.before', { sessionID, tool, input }, signal, readCallChange)
      if (change?.refuse !== undefined)
        throw new Rejection('TOOL_REFUSED', { name: tool, problem: `${idOf(plugin)}: ${change.refuse}` })
      input = change?.input ?? input
    }
    return input
  }

  async afterTool(call: HookedCall, outcome: ToolOutcome, signal: AbortSignal): Promise<ToolOutcome> {
    let current = outcome
    for (const plugin of this.#having('tool.after')) {
      const { sessionId: sessionID, tool, input } = call
      const failed = current.case === 'failed'
      const { content } = current.value
      const texts = content.flatMap((piece) => (piece.content.case === 'text' ? [piece.content.value] : []))
      const text = [...(current.case === 'failed' ? [current.value.message] : []), ...texts].join('\n')
      const outcome = { sessionID, tool, input, failed, text }
      const change = await this.#callHook(plugin, 'tool.after', outcome, signal, readTextChange)
      if (change === undefined) continue
      const files = content.filter((piece) => piece.content.case === 'file')
      current =
        current.case === 'failed'
          ? { case: 'failed', value: { ...current.value, message: cut(change), content: files } }
          : { case: 'completed', value: { ...current.value, content: [pieceOf(change), ...files] } }
    }
    return current
  }

  async instructions(
    { sessionId, agent }: { readonly sessionId: string; readonly agent: string },
    signal: AbortSignal,
  ): Promise<string[]> {
    const session = { sessionID: sessionId, agent }
    const texts = await Promise.all(
      this.#having('instructions').map((plugin) =>
        this.#callHook(plugin, 'instructions', session, signal, readInstructions),
      ),
    )
    return texts.flatMap((text) => text ?? [])
  }

  emit(event: PluginEvent, data: unknown): void {
    for (const plugin of this.#plugins) plugin.emit(event, data)
  }

  #having(name: HookName): readonly Plugin[] {
    return this.#plugins.filter((plugin) => plugin.registration?.hooks.has(name))
  }

  // Undefined: nothing changes, the plugin has failed, or no process became available in time.
  async #callHook<T>(
    plugin: Plugin,
    name: HookName,
    input: unknown,
    signal: AbortSignal,
    read: (value: Record<string, unknown> | string) => T,
  ): Promise<T | undefined> {
    if (plugin.failed) return undefined
    try {
      const value = await plugin.call(name, input, { signal, waitMs: this.#hookMs, limitMs: this.#hookMs })
      if (value === null) return undefined
      if (!isObject(value) && typeof value !== 'string') throw new TypeError('it is neither an object nor a text')
      return read(value)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ThrownByPlugin) plugin.fail(`Its hook ${name} threw: ${error.message}`)
      else if (error instanceof TypeError)
        plugin.fail(`What its hook ${name} returned cannot be used: ${error.message}`)
      else if (!plugin.failed)
        this.#logger.warn({ err: error, plugin: plugin.declared.key, hook: name }, 'A hook was skipped')
      return undefined
    }
  }
}

function idOf({ registration }: Plugin): string {
  return registration?.id ?? ''
}

/** Unique names that providers accept. */
function nameTools(plugins: readonly Plugin[], taken: ReadonlySet<string>): NamedTool[] {
  const names = new Set(taken)
  return plugins.flatMap((plugin) => {
    const { id = '', tools = [] } = plugin.registration ?? {}
    return tools.map((tool) => {
      const name = names.has(tool.name) ? freeName(`${id.replace(/[^\w-]/g, '_')}_${tool.name}`, names) : tool.name
      names.add(name)
      return { name, plugin, tool }
    })
  })
}
