import { z } from 'zod'
import { countMembers } from '../schemas/json.ts'
import { byShape, byType, freeObject, list } from '../shape.ts'

/** As many tools as the inference service takes. */
const MAX_TOOLS = 1_024

const name = z.string().min(1).max(128)
const unsupportedTool = (type: string): string => `tools of the type "${type.slice(0, 64)}" are not supported`

const functionTool = z.object({
  type: z.literal('function'),
  name,
  description: z.string().nullish(),
  parameters: freeObject.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.literal(false, { error: 'deferred tools are not supported' }).nullish(),
  async: z.literal(false, { error: 'asynchronous tools are not supported' }).nullish(),
})

/** Most members of the parameters of all tools together; as many as one free-form object may have. */
const MAX_MEMBERS = 50_000

/** Tools that are offered. */
export const tools = list(byType({ function: functionTool }, { unknown: unsupportedTool }), { most: MAX_TOOLS }).refine(
  (offered) => offered.reduce((sum, { parameters }) => sum + countMembers(parameters), 0) <= MAX_MEMBERS,
  { message: `their parameters have more than ${MAX_MEMBERS} members` },
)

const functionChoice = z.object({ type: z.literal('function'), name })
const choiceObject = byType(
  {
    function: functionChoice,
    allowed_tools: z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: list(byType({ function: functionChoice }, { unknown: unsupportedTool }), { least: 1, most: MAX_TOOLS }),
    }),
  },
  { unknown: unsupportedTool },
)
const choiceWord = z.enum(['auto', 'none', 'required'])

/** Whether and which tools are called. */
export type ToolChoiceSetting = z.output<typeof choiceWord> | z.output<typeof choiceObject>

/** Whether and which tools are called; the names must be those of offered tools, which is checked with the whole. */
export const toolChoice = byShape<ToolChoiceSetting>((value) => {
  return typeof value === 'object' && value !== null ? choiceObject : choiceWord
})

const format = byType({
  text: z.object({ type: z.literal('text') }),
  json_object: z.object({ type: z.literal('json_object') }),
  json_schema: z.object({
    type: z.literal('json_schema'),
    name: z.string().regex(/^[\w-]{1,64}$/, 'must have 1 to 64 letters, digits, _ or -'),
    schema: freeObject,
    strict: z.boolean().nullish(),
    description: z.string().nullish(),
  }),
})

/** Form of the answer. */
export const text = z.object({
  format: format.nullish(),
  verbosity: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
})
