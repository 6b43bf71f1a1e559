import { create } from '@bufbuild/protobuf'
import { z } from 'zod'
import { PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { nanosOf } from './domain/cost.ts'
import type { DataPolicy } from './domain/endpoint.ts'
import type { ModelEntry } from './domain/model-list.ts'

/** US dollars per million tokens: a number, or decimal digits as text; at most nine digits after the point. */
const price = z.union([z.number(), z.string()]).transform((value, context): bigint => {
  const nanos = nanosOf(typeof value === 'number' ? value.toFixed(9) : value)
  if (nanos !== undefined) return nanos
  context.addIssue({ code: 'custom', message: 'must be US dollars per million tokens, from 0 to 999999999' })
  return z.NEVER
})

const pricing = z
  .strictObject({ input: price, output: price, cacheRead: price.optional(), cacheWrite: price.optional() })
  .transform(({ input, output, cacheRead, cacheWrite }) =>
    create(PricingSchema, {
      inputNanos: input,
      outputNanos: output,
      cacheReadNanos: cacheRead ?? input,
      cacheWriteNanos: cacheWrite ?? input,
    }),
  )

export const policyMembers = {
  dataCollection: z.enum(['allow', 'deny']).optional(),
  zdr: z.boolean().optional(),
  distillable: z.boolean().optional(),
  quantization: z.string().min(1).max(64).optional(),
}

/** The data policy that the operator sets; undefined: none. */
export function toPolicy(members: z.output<z.ZodObject<typeof policyMembers>>): Partial<DataPolicy> | undefined {
  const { dataCollection, zdr, distillable, quantization } = members
  const policy = {
    ...(dataCollection !== undefined && { collects: dataCollection === 'allow' }),
    ...(zdr !== undefined && { retainsNothing: zdr }),
    ...(distillable !== undefined && { distillable }),
    ...(quantization !== undefined && { quantization }),
  }
  return Object.keys(policy).length === 0 ? undefined : policy
}

export const model = z
  .strictObject({
    id: z.string().min(1).max(256),
    name: z.string().max(256).optional(),
    description: z.string().max(4_096).optional(),
    contextLength: z.int().min(0).optional(),
    maxOutputTokens: z.int().min(0).optional(),
    inputModalities: z
      .array(z.enum(['text', 'image', 'file', 'audio', 'video']))
      .min(1)
      .optional(),
    outputModalities: z
      .array(z.enum(['text', 'image', 'audio']))
      .min(1)
      .optional(),
    pricing: pricing.optional(),
    ...policyMembers,
  })
  .transform(({ id, name, contextLength, maxOutputTokens, pricing, description, ...rest }): ModelEntry => {
    const { inputModalities, outputModalities, ...policy } = rest
    return {
      id,
      displayName: name ?? id,
      description,
      inputModalities,
      outputModalities,
      pricing,
      contextLength: contextLength || undefined,
      outputLimit: maxOutputTokens || undefined,
      policy: toPolicy(policy),
    }
  })
