import { z } from 'zod'
import { countMembers } from '../records/json.ts'
import { freeObject, mustBe, typeErrors } from '../shape.ts'

/** As many tools as the inference service takes. */
const MAX_TOOLS = 1_024

const name = z.string().min(1).max(128)
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

/** Most members of the parameters of all tools together; as many as one free-form object may have. */
const MAX_MEMBERS = 50_000

/** Tools that are offered. */
export const tools = z
  .array(z.discriminatedUnion('type', [functionTool], errors))
  .max(MAX_TOOLS)
  .refine((offered) => offered.reduce((sum, { parameters }) => sum + countMembers(parameters), 0) <= MAX_MEMBERS, {
    message: `their parameters have more than ${MAX_MEMBERS} members`,
  })

const functionChoice = z.object({ type: z.literal('function'), name })
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: z
    .array(z.discriminatedUnion('type', [functionChoice], errors))
    .min(1)
    .max(MAX_TOOLS),
})

/** Whether and which tools are called; the names must be those of offered tools, which is checked with the whole. */
export const toolChoice = z
  .union(
    [z.enum(['auto', 'none', 'required']), z.discriminatedUnion('type', [functionChoice, allowedTools], errors)],
    mustBe('"auto", "none", "required" or an object'),
  )
  .meta({ id: 'ToolChoice' })

const jsonSchema = z.object({
  type: z.literal('json_schema'),
  name: z.string().regex(/^[\w-]{1,64}$/, 'must have 1 to 64 letters, digits, _ or -'),
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

/** How wordy the answer is. */
export const verbosity = z.enum(['low', 'medium', 'high', 'xhigh', 'max'])

/** Form of the answer, and how wordy it is. */
export const text = z.object({ format: format.nullish(), verbosity: verbosity.nullish() })
