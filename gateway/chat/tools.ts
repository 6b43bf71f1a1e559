import { z } from 'zod'
import { GenerationRequestSchema, ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { cacheControl } from '../generation/settings.ts'
import { formatName, grammar, jsonSchema, listProblem, MAX_CHECKED, toolProblem } from '../generation/tools.ts'
import { countMembers, guarded, limitedBy, mustBe, objectProblem, openObject, refinedBy, typeErrors } from '../shape.ts'

const name = limitedBy(ToolSchema.field.name, z.string().min(1))
const errors = typeErrors(toolProblem)

const functionTool = z.object({
  type: z.literal('function'),
  function: z.object({
    name,
    description: z.string().nullish(),
    parameters: jsonSchema.nullish(),
    strict: z.boolean().nullish(),
  }),
  cache_control: cacheControl.nullish(),
})

const customTool = z.object({
  type: z.literal('custom'),
  custom: z.object({
    name,
    description: z.string().nullish(),
    format: z
      .discriminatedUnion(
        'type',
        [z.object({ type: z.literal('text') }), z.object({ type: z.literal('grammar'), grammar })],
        typeErrors(),
      )
      .nullish(),
  }),
  cache_control: cacheControl.nullish(),
})

/** Tools that OpenAI runs; other providers do not get them. */
const HOSTED = ['web_search', 'web_search_preview', 'web_search_preview_2025_03_11', 'web_search_2025_08_26'] as const
const hostedTool = openObject({ type: z.enum(HOSTED) }).meta({
  description: 'A tool that the provider runs, passed on unchanged.',
})

const offered = z.array(z.discriminatedUnion('type', [functionTool, customTool, hostedTool], errors)).check(
  refinedBy((all, context) => {
    let members = 0
    for (const [i, tool] of all.entries()) {
      const free = tool.type === 'function' ? tool.function.parameters : tool.type === 'custom' ? undefined : tool
      members += countMembers(free)
      const problem = free === tool ? objectProblem(free) : undefined
      if (problem !== undefined) return context.addIssue({ code: 'custom', path: [i], message: problem })
    }
    if (members > MAX_CHECKED) {
      context.addIssue({ code: 'custom', message: `their parameters have more than ${MAX_CHECKED} members` })
    }
  }),
)

export const tools = guarded(limitedBy(GenerationRequestSchema.field.tools, offered), listProblem)

const functionChoice = z.object({ type: z.literal('function'), function: z.object({ name }) })
const customChoice = z.object({ type: z.literal('custom'), custom: z.object({ name }) })
const named = z.discriminatedUnion('type', [functionChoice, customChoice], errors)
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({
    mode: z.enum(['auto', 'required']),
    tools: guarded(z.array(named).min(1), listProblem),
  }),
})
const hostedChoice = z.object({ type: z.enum(HOSTED) })

/** Whether and which tools are called; the names must be those of offered tools, which is checked with the whole. */
export const toolChoice = z.union(
  [
    z.enum(['auto', 'none', 'required']),
    z.discriminatedUnion('type', [functionChoice, customChoice, allowedTools, hostedChoice], errors),
  ],
  mustBe('"auto", "none", "required" or an object'),
)

/** Form of the answer. */
export const responseFormat = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({ type: z.literal('python') }),
    z.object({ type: z.literal('grammar'), grammar: z.string() }),
    z.object({
      type: z.literal('json_schema'),
      json_schema: z.object({
        name: formatName,
        schema: jsonSchema.nullish(),
        strict: z.boolean().nullish(),
        description: z.string().nullish(),
      }),
    }),
  ],
  typeErrors((type) => `the form "${type.slice(0, 64)}" is not supported`),
)
