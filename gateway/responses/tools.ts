import { z } from 'zod'
import {
  GenerationRequestSchema,
  JsonSchemaFormatSchema,
  ToolNamespaceSchema,
  ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { verbosity } from '../generation/settings.ts'
import { listProblem, MAX_CHECKED, toolProblem } from '../generation/tool-problem.ts'
import { countMembers, freeObject, guarded, limitedBy, mustBe, typeErrors } from '../shape.ts'
import { hostedChoice, hostedTool } from './hosted.ts'

const name = limitedBy(ToolSchema.field.name, z.string().min(1))
const errors = typeErrors(toolProblem)

const functionTool = z.object({
  type: z.literal('function'),
  name,
  description: z.string().nullish(),
  parameters: freeObject('A JSON Schema, interpreted by the provider.').nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().nullish(),
  async: z.literal(false, { error: 'asynchronous tools are not supported' }).nullish(),
})

const grammar = z.object({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() })

/** A tool whose input is any text. */
const customTool = z.object({
  type: z.literal('custom'),
  name,
  description: z.string().nullish(),
  format: z.discriminatedUnion('type', [z.object({ type: z.literal('text') }), grammar], typeErrors()).nullish(),
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

/** Tools that are offered. */
export const tools = guarded(limitedBy(GenerationRequestSchema.field.tools, offered), listProblem)

const namedChoice = z.object({ type: z.enum(['function', 'custom']), name })
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: guarded(z.array(z.discriminatedUnion('type', [namedChoice, hostedChoice], errors)).min(1), listProblem),
})

/** Whether and which tools are called. */
export const toolChoice = z
  .union(
    [
      z.enum(['auto', 'none', 'required']),
      z.discriminatedUnion('type', [namedChoice, hostedChoice, allowedTools], errors),
    ],
    mustBe('"auto", "none", "required" or an object'),
  )
  .meta({ id: 'ToolChoice' })

const formatName = JsonSchemaFormatSchema.field.name
const jsonSchema = z.object({
  type: z.literal('json_schema'),
  name: limitedBy(
    formatName,
    z.string().regex(/^[\w-]+$/, `must have 1 to ${limitOf(formatName).most} letters, digits, _ or -`),
  ),
  schema: freeObject('A JSON Schema, interpreted by the provider.'),
  strict: z.boolean().nullish(),
  description: z.string().nullish(),
})
/** Form of the answer. */
export const format = z
  .discriminatedUnion(
    'type',
    [z.object({ type: z.literal('text') }), z.object({ type: z.literal('json_object') }), jsonSchema],
    typeErrors(),
  )
  .meta({ id: 'TextFormat' })

/** Form of the answer, and how wordy it is. */
export const text = z.object({ format: format.nullish(), verbosity: verbosity.nullish() })
