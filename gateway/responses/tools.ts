import { z } from 'zod'
import { GenerationRequestSchema, JsonSchemaFormatSchema, ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { verbosity } from '../generation/settings.ts'
import { countMembers } from '../records/json.ts'
import { freeObject, guarded, limitedBy, mustBe, typeErrors } from '../shape.ts'

const name = limitedBy(ToolSchema.field.name, z.string().min(1))
const errors = typeErrors((type) => `tools of the type "${type.slice(0, 64)}" are not supported`)

const functionTool = z.object({
  type: z.literal('function'),
  name,
  description: z.string().nullish(),
  parameters: freeObject('A JSON Schema, interpreted by the provider.').nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.literal(false, { error: 'deferred tools are not supported' }).nullish(),
  async: z.literal(false, { error: 'asynchronous tools are not supported' }).nullish(),
})

/**
 * Most tools of a list, and most members of the parameters of all of them together, as many as one free-form object may have: to
 * check more would keep every other request waiting.
 */
const MAX_CHECKED = 50_000

/** Lists are counted before they are looked at. */
function listProblem(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > MAX_CHECKED ? `has more than ${MAX_CHECKED} items` : undefined
}

const offered = z
  .array(z.discriminatedUnion('type', [functionTool], errors))
  .refine((all) => all.reduce((sum, { parameters }) => sum + countMembers(parameters), 0) <= MAX_CHECKED, {
    message: `their parameters have more than ${MAX_CHECKED} members`,
  })

/** Tools that are offered. */
export const tools = guarded(limitedBy(GenerationRequestSchema.field.tools, offered), listProblem)

const functionChoice = z.object({ type: z.literal('function'), name })
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: guarded(z.array(z.discriminatedUnion('type', [functionChoice], errors)).min(1), listProblem),
})

/** Whether and which tools are called; the names must be those of offered tools, which is checked with the whole. */
export const toolChoice = z
  .union(
    [z.enum(['auto', 'none', 'required']), z.discriminatedUnion('type', [functionChoice, allowedTools], errors)],
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
