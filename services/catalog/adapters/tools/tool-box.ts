import { hash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type Location, type Tool as ToolMessage, ToolSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { savePatternsOf } from '#services/catalog/domain/access.ts'
import { completed, failed, type ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'
import type { PreparedCall, ToolSource, Tools } from '#services/catalog/ports/tools.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { goneDirectory } from '../files/confinement.ts'
import type { GuardedFiles } from '../files/guarded-files.ts'
import { InputError, type Plan, type Tool, type ToolContext, ToolError } from './tool.ts'

/** A fixed set of tools. The schema of each is compiled when it is first called. */
export class ToolBox implements Tools {
  readonly #guarded: GuardedFiles
  /** Name → what plans a call of the tool. */
  readonly #tools: ReadonlyMap<string, Planner>
  readonly #descriptions: readonly ToolMessage[]

  /** Each tool's `plan` only gets input that matches its schema. */
  constructor(tools: readonly Tool<never>[], guarded: GuardedFiles) {
    this.#guarded = guarded
    const ajv = new Ajv({ strict: true })
    this.#tools = new Map(tools.map((tool) => [tool.name, plannerOf(tool, ajv)]))
    this.#descriptions = tools.map(({ name, description, inputSchema }) =>
      create(ToolSchema, { name, description, inputSchema }),
    )
  }

  list(): readonly ToolMessage[] {
    return this.#descriptions
  }

  async prepare(location: Location, name: string, input: JsonObject): Promise<PreparedCall> {
    const planCall = this.#tools.get(name)
    if (planCall === undefined) throw new Rejection('TOOL_NOT_FOUND', { name: name.slice(0, 100) })
    const plan = await planCall(location.directory, input)
    const { changes } = plan
    const guarded = changes !== undefined && (await this.#guarded.has(location, changes))
    const accesses = guarded ? plan.accesses.map((access) => ({ ...access, guardedPath: changes })) : plan.accesses
    return {
      accesses,
      savePatterns: savePatternsOf(accesses),
      external: false,
      run: (signal, progress) => runPlan(plan, location.directory, { signal, progress }),
    }
  }
}

type Planner = (directory: string, input: JsonObject) => Promise<Plan>

/** Plans calls of a tool whose input matches its schema. Rejects with TOOL_INPUT_INVALID. */
function plannerOf<I>(tool: Tool<I>, ajv: Ajv): Planner {
  const { name, inputSchema } = tool
  let validate: ValidateFunction<I> | undefined
  return async (directory, input) => {
    validate ??= ajv.compile<I>(inputSchema)
    try {
      if (!validate(input)) throw new InputError(problemOf(validate.errors?.[0]))
      return await tool.plan(directory, input)
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      throw new Rejection('TOOL_INPUT_INVALID', { name, problem: error.message })
    }
  }
}

async function runPlan(plan: Plan, directory: string, { signal, progress }: ToolContext): Promise<ToolOutcome> {
  using _ = await plan.begin?.(signal)
  const time = AbortSignal.timeout(plan.timeoutMs)
  try {
    const { content, metadata } = await plan.run({ signal: AbortSignal.any([signal, time]), progress })
    return completed(content, metadata)
  } catch (error) {
    if (error instanceof ToolError) {
      const { kind, message, content, metadata } = await goneDirectory(error, directory)
      return failed(kind, message, content, metadata)
    }
    if (error !== time.reason || signal.aborted) throw error
    return failed('timeout', `It took longer than ${plan.timeoutMs} ms and was ended`)
  }
}

function problemOf(error: ErrorObject | undefined): string {
  if (error === undefined) return 'it does not match the schema'
  const extra: unknown = error.params.additionalProperty
  const at = error.instancePath.slice(1).replaceAll('/', '.') || 'the input'
  return `${at} ${error.message ?? 'is invalid'}${typeof extra === 'string' ? `: ${extra}` : ''}`.slice(0, 500)
}

/** Offers the same tools in every location, for as long as the process lives. */
export function builtinTools(value: Tools): ToolSource {
  const offer = { value, digest: hash('sha256', JSON.stringify(value.list()), 'hex') }
  return { open: () => ({ read: () => Promise.resolve(offer), [Symbol.dispose]() {} }) }
}
