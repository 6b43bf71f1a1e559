import { z } from 'zod'
import { GenerationRequestSchema, ReasoningSchema, SamplingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { isObject } from '#shared/json.ts'
import { requireModel, routingSettings } from '../generation/routing.ts'
import { metadataOf, metadataValue, modelName, serviceTier, sharedSettings, speed } from '../generation/settings.ts'
import { jsonSchema } from '../generation/tools.ts'
import { freeObject, guarded, limitedBy, objectProblem, type Problems, refinedBy, typeErrors } from '../shape.ts'
import { blocksProblem, message, system } from './blocks.ts'
import { fewBreakpoints } from './breakpoints.ts'
import { toolChoice, tools } from './tools.ts'

const request = GenerationRequestSchema.field
const { temperature, topP, topK, stop } = SamplingSchema.field

const display = z.string().max(64).nullish()
const thinking = guarded(
  z.discriminatedUnion(
    'type',
    [
      z.looseObject({
        type: z.literal('enabled'),
        budget_tokens: limitedBy(ReasoningSchema.field.maxTokens, z.int32()),
        display,
      }),
      z.looseObject({ type: z.literal('adaptive'), display }),
      z.looseObject({ type: z.literal('between_tools') }),
      z.looseObject({ type: z.literal('disabled') }),
    ],
    typeErrors(),
  ),
  objectProblem,
)

const format = z.object({
  type: z.literal('json_schema'),
  schema: jsonSchema,
  name: z.string().max(64).nullish(),
})

const outputConfig = z.object({
  effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  format: format.nullish(),
  task_budget: z
    .object({ type: z.literal('tokens'), total: z.int32().min(20_000), remaining: z.int32().min(0).nullish() })
    .nullish(),
})

const ANTHROPICS = 'Interpreted by Anthropic; other providers do not get it.'
const objects = guarded(z.array(z.looseObject({})).max(256), objectProblem).meta({ description: ANTHROPICS })

const { user, session_id, trace, preset, metadata: _, ...everywhere } = sharedSettings

const settings = {
  ...everywhere,
  ...routingSettings,
  system: system.nullish(),
  max_tokens: limitedBy(request.maxOutputTokens, z.int32()).nullish(),
  temperature: limitedBy(temperature, z.number()).nullish(),
  top_p: limitedBy(topP, z.number()).nullish(),
  top_k: limitedBy(topK, z.int32()).nullish(),
  stop_sequences: limitedBy(stop, z.array(z.string())).nullish(),
  tools: tools.nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: thinking.nullish(),
  output_config: outputConfig.nullish(),
  output_format: format.nullish().meta({ description: 'Older name of `output_config.format`' }),
  service_tier: z.union([serviceTier, z.literal('standard_only')]).nullish(),
  speed: speed.nullish(),
  context_management: freeObject(ANTHROPICS).nullish(),
  safeguards: objects.nullish(),
  mcp_servers: objects.nullish(),
  container: z.union([z.string().max(256), freeObject(ANTHROPICS)]).nullish(),
  inference_geo: z.string().max(64).nullish(),
  fallbacks: z
    .array(z.strictObject({ model: modelName }))
    .max(3)
    .nullish(),
}

/** `user_id` is the end user; other pairs go into the ledger. */
const metadata = metadataOf(z.object({ user_id: user }).catchall(metadataValue.nullable()))

/** The conversation. Blocks are counted before they are looked at. */
const messages = guarded(limitedBy(request.messages, z.array(message)), blocksProblem)

const members = z.object({
  model: limitedBy(request.model, z.string().min(1))
    .nullish()
    .meta({ description: 'Default: the first of `models`, else that of the preset; one of them is required' }),
  messages,
  stream: z.boolean().nullish(),
  ...settings,
  user,
  session_id,
  trace,
  preset,
  metadata: metadata.nullish(),
})

function consistent(
  { models, fallbacks }: { readonly models?: unknown; readonly fallbacks?: unknown },
  problems: Problems,
): void {
  if (models == null || fallbacks == null) return
  problems.addIssue({ code: 'custom', path: ['fallbacks'], message: 'must not be given together with models' })
}

/** Names of the members that mean something here; the others are Anthropic's. */
export const KNOWN_MEMBERS: ReadonlySet<string> = new Set(Object.keys(members.shape))

/** The body of `POST /api/v1/messages`. */
export const createMessageBody = guarded(
  members.loose().check(refinedBy(requireModel), refinedBy(consistent), refinedBy(fewBreakpoints)),
  (value) => unknownProblem(value),
)

/**
 * The body of `POST /api/v1/presets/{slug}/messages`: the conversation, its sender and the way of sending are ignored.
 */
export const presetBody = z
  .object({ ...settings, model: members.shape.model })
  .check(refinedBy(consistent), refinedBy(fewBreakpoints))

/** A checked body of `POST /api/v1/messages`, including unknown members. */
export type CreateMessageBody = z.output<typeof members>

export type MessageSettings = z.output<typeof presetBody>

/** Why an unknown member cannot be passed on. */
function unknownProblem(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  const unknown = Object.entries(value).filter(([name]) => !KNOWN_MEMBERS.has(name))
  const problem = objectProblem(Object.fromEntries(unknown))
  return problem === undefined ? undefined : `${problem} in unknown members`
}
