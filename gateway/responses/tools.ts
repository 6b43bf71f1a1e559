import { z } from 'zod'
import { GenerationRequestSchema, ToolNamespaceSchema, ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { verbosity } from '../generation/settings.ts'
import { formatName, grammar, jsonSchema, listProblem, MAX_CHECKED, toolProblem } from '../generation/tools.ts'
import { countMembers, guarded, limitedBy, mustBe, typeErrors } from '../shape.ts'
import { hostedChoice, hostedTool } from './hosted.ts'

const name = limitedBy(ToolSchema.field.name, z.string().min(1))
const errors = typeErrors(toolProblem)

const functionTool = z.object({
  type: z.literal('function'),
  name,
  description: z.string().nullish(),
  parameters: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().nullish(),
  async: z.literal(false, { error: 'asynchronous tools are not supported' }).nullish(),
})

/** A tool whose input is any text. */
const customTool = z.object({
  type: z.literal('custom'),
  name,
  description: z.string().nullish(),
  format: z
    .discriminatedUnion(
      'type',
      [z.object({ type: z.literal('text') }), z.object({ type: z.literal('grammar'), ...grammar.shape })],
      typeErrors(),
    )
    .nullish(),
  defer_loading: z.boolean().nullish(),
  async: z.literal(false, { error: 'asynchronous tools are not supported' }).nullish(),
})

const namespaceTool = z.object({
  type: z.literal('namespace'),
  name: limitedBy(ToolNamespaceSchema.field.name, z.string().min(1)),
  description: z.string().nullish(),
  tools: guarded(z.array(z.discriminatedUnion('type', [functionTool, customTool], errors)).min(1), listProblem),
})

const tool = z.discriminatedUnion('type', [functionTool, customTool, namespaceTool, hostedTool], errors)
type Tool = z.output<typeof tool>

const offered = z.array(tool).refine((all) => all.reduce((sum, each) => sum + membersOf(each), 0) <= MAX_CHECKED, {
  message: `their parameters have more than ${MAX_CHECKED} members`,
})

function membersOf(each: Tool): number {
  switch (each.type) {
    case 'function':
      return countMembers(each.parameters)
    case 'custom':
      return 0
    case 'namespace':
      return each.tools.reduce((sum, inner) => sum + membersOf(inner), 0)
    default:
      return countMembers(each)
  }
}

export const tools = guarded(limitedBy(GenerationRequestSchema.field.tools, offered), listProblem)

const namedChoice = z.object({ type: z.enum(['function', 'custom']), name })
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: guarded(z.array(z.discriminatedUnion('type', [namedChoice, hostedChoice], errors)).min(1), listProblem),
})

export const toolChoice = z
  .union(
    [
      z.enum(['auto', 'none', 'required']),
      z.discriminatedUnion('type', [namedChoice, hostedChoice, allowedTools], errors),
    ],
    mustBe('"auto", "none", "required" or an object'),
  )
  .meta({ id: 'ToolChoice' })

const jsonFormat = z.object({
  type: z.literal('json_schema'),
  name: formatName,
  schema: jsonSchema,
  strict: z.boolean().nullish(),
  description: z.string().nullish(),
})
/** Form of the answer. */
export const format = z
  .discriminatedUnion(
    'type',
    [z.object({ type: z.literal('text') }), z.object({ type: z.literal('json_object') }), jsonFormat],
    typeErrors(),
  )
  .meta({ id: 'TextFormat' })

/** Form of the answer, and how wordy it is. */
export const text = z.object({ format: format.nullish(), verbosity: verbosity.nullish() })
