import { Ajv, type ValidateFunction } from 'ajv'
import type { Events, Hooks, Json, JsonMap, PluginContext, PluginSkill, PluginTool, ToolContext } from './plugin-api.ts'
import type { CallName } from './protocol.ts'

/** What the thread adds to a call. */
interface CallContext {
  readonly signal: AbortSignal
  readonly progress: (metadata: JsonMap) => void
}

const MAX_PROBLEM = 500

/** What a plugin registers, for the catalog, which trusts none of it. */
export class Registration {
  readonly context: PluginContext
  readonly #tools = new Map<string, PluginTool>()
  readonly #agents: Record<string, JsonMap> = Object.create(null)
  readonly #skills: PluginSkill[] = []
  readonly #hooks = new Map<string, (...inputs: never[]) => unknown>()
  readonly #listeners = new Map<string, ((event: never) => void)[]>()
  readonly #validators = new Map<string, ValidateFunction>()
  #closed = false

  constructor(directory: string, options: Json) {
    const open = <A extends readonly unknown[]>(register: (...values: A) => void) => {
      return (...registered: A): void => {
        if (this.#closed) throw new Error('Nothing can be registered any more: setup has ended')
        register(...registered)
      }
    }
    this.context = {
      directory,
      options,
      tool: open((tool: PluginTool) => {
        if (typeof tool?.execute !== 'function') throw new TypeError(`The tool ${tool?.name} has no execute function`)
        if (this.#tools.has(tool.name)) throw new Error(`The tool ${tool.name} is registered twice`)
        this.#tools.set(tool.name, tool)
      }),
      agent: open((id: string, agent: JsonMap) => {
        this.#agents[id] = agent
      }),
      skill: open((skill: PluginSkill) => void this.#skills.push(skill)),
      hook: open((name: keyof Hooks, hook: Hooks[keyof Hooks]) => {
        if (typeof hook !== 'function') throw new TypeError(`The hook ${name} is not a function`)
        if (this.#hooks.has(name)) throw new Error(`The hook ${name} is registered twice`)
        this.#hooks.set(name, hook)
      }),
      on: open((type: keyof Events, listener: (event: never) => void) => {
        this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
      }),
    }
  }

  /** Ends the registration. Throws for an invalid schema. */
  close(id: unknown): unknown {
    this.#closed = true
    const tools = [...this.#tools.values()]
    const ajv = new Ajv({ strict: false, logger: false, allErrors: false, validateFormats: false })
    for (const tool of tools) this.#validators.set(tool.name, compile(ajv, tool))
    return {
      id,
      tools: tools.map(({ name, description, inputSchema, permission }) => {
        return { name, description, inputSchema, permission }
      }),
      agents: this.#agents,
      skills: this.#skills,
      hooks: [...this.#hooks.keys()],
      events: [...this.#listeners.keys()],
    }
  }

  /** An error in a listener is uncaught, so it ends the thread. */
  emit(name: string, event: unknown): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(event as never)
  }

  async call(name: CallName, input: JsonMap, { signal, progress }: CallContext): Promise<unknown> {
    if (name === 'validate') return this.#validate(input as { tool: string; input: JsonMap })
    if (name === 'tool') {
      const {
        tool,
        input: toolInput,
        ...about
      } = input as unknown as Omit<ToolContext, 'signal' | 'progress'> & {
        readonly tool: string
        readonly input: JsonMap
      }
      return this.#toolOf(tool).execute(toolInput, { ...about, signal, progress })
    }
    const hook = this.#hooks.get(name) as ((...inputs: unknown[]) => unknown) | undefined
    if (hook === undefined) throw new Error(`There is no hook ${name}`)
    const { about, ...rest } = input
    return name === 'prompt' ? hook(rest, about) : hook(rest)
  }

  /** Null: the input matches the schema. */
  #validate({ tool, input }: { tool: string; input: JsonMap }): string | null {
    const { name } = this.#toolOf(tool)
    const validate = this.#validators.get(name)
    if (validate?.(input) === true) return null
    const [error] = validate?.errors ?? []
    const at = error?.instancePath.slice(1).replaceAll('/', '.') || 'the input'
    const extra: unknown = error?.params.additionalProperty
    return `${at} ${error?.message ?? 'is invalid'}${typeof extra === 'string' ? `: ${extra}` : ''}`.slice(
      0,
      MAX_PROBLEM,
    )
  }

  #toolOf(name: string): PluginTool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new Error(`There is no tool ${name}`)
    return tool
  }
}

function compile(ajv: Ajv, { name, inputSchema }: PluginTool): ValidateFunction {
  if (inputSchema === undefined) throw new TypeError(`The tool ${name} has no inputSchema`)
  try {
    return ajv.compile(inputSchema)
  } catch (error) {
    throw new Error(
      `The inputSchema of the tool ${name} is not valid: ${error instanceof Error ? error.message : error}`,
    )
  }
}
