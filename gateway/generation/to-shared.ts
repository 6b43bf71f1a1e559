import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { CacheControlSchema, CustomToolSchema, ReasoningSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationInit } from './request.ts'
import { modelOf, notApplied, type routingSettings, toRouting } from './routing.ts'
import type { cacheControl, reasoning, sharedSettings } from './settings.ts'

type Body = z.output<z.ZodObject<typeof sharedSettings & typeof routingSettings>> & {
  readonly model?: string | null | undefined
  readonly fallbacks?: readonly { readonly model: string }[] | null | undefined
}

/** The settings whose members are the same in every dialect, without the identity of the sender. */
export function toSharedSettings(body: Body): Partial<GenerationInit> {
  const tier = body.service_tier
  return {
    model: modelOf(body),
    preset: body.preset ?? undefined,
    maxToolCalls: body.max_tool_calls ?? undefined,
    routing: toRouting(body.provider),
    notApplied: notApplied(body),
    serviceTier: tier === 'fast' ? 'priority' : (tier ?? undefined),
    automaticCache: toCacheControl(body.cache_control),
  }
}

/** The object that is wanted as the answer. */
export function toJsonFormat(format: {
  readonly name: string
  readonly schema?: JsonObject | null | undefined
  readonly strict?: boolean | null | undefined
  readonly description?: string | null | undefined
}): NonNullable<GenerationInit['responseFormat']> {
  const { name, schema, strict, description } = format
  const value = {
    name,
    schema: schema ?? undefined,
    strict: strict ?? undefined,
    description: description || undefined,
  }
  return { format: { case: 'jsonSchema', value } }
}

/** The input of a tool that takes any text, or what a grammar allows. */
export function toCustomTool(
  grammar: { readonly syntax: string; readonly definition: string } | undefined,
): MessageInitShape<typeof CustomToolSchema> {
  return { syntax: grammar?.syntax, grammar: grammar?.definition }
}

/** How the provider shall cache. */
export function toCacheControl(
  control: z.output<typeof cacheControl> | null | undefined,
): MessageInitShape<typeof CacheControlSchema> | undefined {
  if (control == null) return undefined
  return { ttl: control.ttl ?? undefined }
}

/** How the model shall think: switched by `enabled`, measured by effort or tokens. */
export function toReasoning(
  settings: z.output<typeof reasoning> | null | undefined,
): MessageInitShape<typeof ReasoningSchema> | undefined {
  if (settings == null) return undefined
  const { effort, summary, enabled, max_tokens: maxTokens } = settings
  const implied = enabled === false ? 'none' : enabled === true && maxTokens == null ? 'medium' : undefined
  return { effort: effort ?? implied, summary: summary ?? undefined, maxTokens: maxTokens ?? undefined }
}

/** Whether the answer is shown without thoughts; undefined: the request does not say. */
export function toExclusion(exclude: boolean | null | undefined, include?: boolean | null | undefined) {
  if (exclude === true || include === false) return true
  return exclude === false || include === true ? false : undefined
}

interface Pictures {
  readonly modalities?: readonly string[] | null | undefined
  readonly image_config?: unknown
}

/** The pictures that are wanted, for which a generation has no members: as chat completions name them. */
export function picturesBody({ modalities, image_config }: Pictures): GenerationInit['providerBody'] {
  if (modalities?.includes('image') !== true) return undefined
  return structOf({ modalities, image_config: image_config ?? undefined })
}

/** How pictures are made means nothing where none are wanted. */
export function picturesNotApplied(body: Pictures): string[] {
  return body.image_config == null || body.modalities?.includes('image') === true ? [] : ['image_config']
}

/** The sampling settings that a request switches off, by field name; they stay off even if a preset sets them. */
export function cleared(off: Readonly<Record<string, boolean | undefined>>): string[] {
  return Object.keys(off).filter((name) => off[name])
}

/** Members for a protobuf Struct, which must not contain undefined; undefined: there are none. */
export function structOf(members: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const present = Object.entries(members).filter(([, value]) => value !== undefined)
  return present.length === 0 ? undefined : (Object.fromEntries(present) as JsonObject)
}
