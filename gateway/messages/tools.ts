import { z } from 'zod'
import { GenerationRequestSchema, ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { itemsOf, membersOf } from '#shared/json.ts'
import type { Offer } from '../generation/public-field.ts'
import { cacheControl } from '../generation/settings.ts'
import { jsonSchema, toolProblem } from '../generation/tools.ts'
import { countMembers, guarded, limitedBy, objectProblem, openObject, typeErrors } from '../shape.ts'

const name = limitedBy(ToolSchema.field.name, z.string().min(1))

/** A tool of the caller. Members that are not named here go to Anthropic as they are. */
const customTool = z.looseObject({
  type: z.literal('custom').nullish(),
  name,
  description: z.string().nullish(),
  input_schema: jsonSchema,
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().nullish(),
  cache_control: cacheControl.nullish(),
})

/** A tool that Anthropic defines, by its type (`web_search_20250305`, `bash_20250124`). */
const hostedTool = guarded(
  openObject({
    // It aborts, since a union reports an alternative that does not as the closest.
    type: z.string().refine((type) => type !== 'custom', { abort: true }),
    name: z.string().min(1).nullish(),
  }),
  objectProblem,
).meta({ description: 'A tool that Anthropic defines is sent to Anthropic unchanged; other providers do not get it.' })

/** Most members of all tools together, as many as one free-form object may have. */
const MAX_MEMBERS = 50_000

const offered = z
  .array(z.union([customTool, hostedTool]))
  .refine((all) => all.reduce((sum, tool) => sum + countMembers(tool), 0) <= MAX_MEMBERS, {
    message: `have more than ${MAX_MEMBERS} members`,
  })

/** Levels of a tool. */
const MAX_DEPTH = 31

/** Tools that are offered. They are counted before they are looked at; those of OpenRouter are refused by name. */
export const tools = z.preprocess(
  (value, context) => {
    if (!Array.isArray(value)) return value
    if (value.length > MAX_MEMBERS) {
      context.addIssue({ code: 'custom', message: `has more than ${MAX_MEMBERS} items` })
      return value
    }
    for (const [i, tool] of itemsOf(value).entries()) {
      // A schema in it may have as many levels as any.
      const problem = objectProblem(tool, MAX_DEPTH)
      if (problem !== undefined) context.addIssue({ code: 'custom', path: [i], message: problem })
      const { type } = membersOf(tool)
      if (typeof type !== 'string' || !type.startsWith('openrouter:')) continue
      context.addIssue({ code: 'custom', path: [i, 'type'], message: toolProblem(type) })
    }
    return value
  },
  limitedBy(GenerationRequestSchema.field.tools, offered),
)

const alone = { disable_parallel_tool_use: z.boolean().nullish() }

export const toolChoice = z
  .discriminatedUnion(
    'type',
    [
      z.object({ type: z.literal('auto'), ...alone }),
      z.object({ type: z.literal('any'), ...alone }),
      z.object({ type: z.literal('none') }),
      z.object({ type: z.literal('tool'), name: z.string().min(1), ...alone }),
    ],
    typeErrors(),
  )
  .meta({ id: 'Messages.ToolChoice' })

export type MessageTool = z.output<typeof offered>[number]
export type CustomTool = z.output<typeof customTool>

/** Whether a tool is the caller's own. */
export function isCustomTool(tool: MessageTool): tool is CustomTool {
  return tool.type == null || tool.type === 'custom'
}

export type MessageOffer = Offer<CustomTool, Exclude<MessageTool, CustomTool>>

/** The tools of a body: the caller's, and Anthropic's. */
export function offerOf({ tools }: { readonly tools?: readonly MessageTool[] | null | undefined }): MessageOffer {
  const own: MessageOffer['tools'][number][] = []
  const hosted: MessageOffer['hosted'][number][] = []
  for (const [i, tool] of (tools ?? []).entries()) {
    const path = `tools.${i}`
    if (isCustomTool(tool)) own.push({ tool, path })
    else hosted.push({ tool, path })
  }
  return { tools: own, hosted }
}
