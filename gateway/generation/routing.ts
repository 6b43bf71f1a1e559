import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import { RoutingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { limitedBy, mustBe, type Problems } from '../shape.ts'
import { plugins } from './plugins.ts'
import { maxToolCalls, models, route, stopConditions } from './settings.ts'

type Routing = MessageInitShape<typeof RoutingSchema>

const { only, ignore, quantizations } = RoutingSchema.field
const sorts = z.enum(['price', 'throughput', 'latency', 'exacto'])
const number = z.number().nullish()
/** US dollars for a million tokens, in at most nine digits behind the point. */
const price = z
  .union([
    z.number().min(0).max(1_000_000),
    z
      .string()
      .regex(/^\d{1,7}(\.\d{1,9})?$/, 'must be an amount of US dollars, with at most nine digits after the point'),
  ])
  .nullish()
const pace = z.union([z.number(), z.object({ p50: number, p75: number, p90: number, p99: number })]).nullish()
const slugs = z.array(z.string().min(1))
const precisions = [
  ...['int4', 'int8', 'fp4', 'mxfp4', 'nvfp4', 'fp6', 'fp8', 'mxfp8', 'fp16', 'bf16', 'fp32', 'unknown'],
] as const

/** Which endpoints may serve a request, and which are preferred. The object is closed. */
export const provider = z
  .strictObject({
    order: slugs.max(limitOf(only).most).nullish(),
    only: limitedBy(only, slugs).nullish(),
    ignore: limitedBy(ignore, slugs).nullish(),
    allow_fallbacks: z.boolean().nullish(),
    require_parameters: z.boolean().nullish(),
    data_collection: z.enum(['allow', 'deny']).nullish(),
    zdr: z.boolean().nullish(),
    enforce_distillable_text: z.boolean().nullish(),
    quantizations: limitedBy(quantizations, z.array(z.enum(precisions))).nullish(),
    sort: z
      .union(
        [sorts, z.strictObject({ by: sorts.nullish(), partition: z.enum(['model', 'none']).nullish() })],
        mustBe('"price", "throughput", "latency", "exacto" or an object'),
      )
      .nullish(),
    max_price: z
      .strictObject({ prompt: price, completion: price, request: price, image: price, audio: price })
      .nullish(),
    preferred_max_latency: pace,
    preferred_min_throughput: pace,
  })
  .meta({ id: 'ProviderRouting' })

type Provider = z.output<typeof provider>

/** Members that choose among several endpoints: the order of the configuration counts. */
const PREFERENCES = ['order', 'allow_fallbacks', 'sort', 'preferred_max_latency', 'preferred_min_throughput'] as const
/** Maximum prices of what no model list has a price of its own for. */
const PRICELESS = ['request', 'image', 'audio'] as const

/**
 * The demands of a request on the endpoint that serves it, and those of its members that are not applied; undefined:
 * none.
 */
export function toRouting(provider: Provider | null | undefined): Routing | undefined {
  if (provider == null) return undefined
  return {
    only: provider.only ?? [],
    ignore: provider.ignore ?? [],
    requireParameters: provider.require_parameters === true,
    denyDataCollection: provider.data_collection === 'deny',
    zeroDataRetention: provider.zdr === true,
    enforceDistillableText: provider.enforce_distillable_text === true,
    quantizations: provider.quantizations ?? [],
    ...limit('maxInputNanos', provider.max_price?.prompt),
    ...limit('maxOutputNanos', provider.max_price?.completion),
    preferences: [
      ...PREFERENCES.filter((name) => provider[name] != null),
      ...PRICELESS.filter((name) => provider.max_price?.[name] != null).map((name) => `max_price.${name}`),
    ],
  }
}

function limit<N extends string>(name: N, dollars: string | number | null | undefined): { readonly [n in N]?: bigint } {
  if (dollars == null) return {}
  const [whole = '0', fraction = ''] = (typeof dollars === 'number' ? dollars.toFixed(9) : dollars).split('.')
  return { [name]: BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0')) } as { readonly [n in N]?: bigint }
}

/** Members that would matter if several models or endpoints served a request, or server tools ran. */
export const routingSettings = {
  models: models.nullish(),
  route: route.nullish(),
  provider: provider.nullish(),
  plugins: plugins.nullish(),
  stop_server_tools_when: stopConditions.nullish(),
  max_tool_calls: maxToolCalls.nullish(),
}

interface Named {
  readonly model?: string | null | undefined
  readonly models?: readonly string[] | null | undefined
}

/** The model that a body names, by whichever member; undefined: it names none. */
export function modelOf({ model, models: several }: Named): string | undefined {
  return model ?? several?.[0]
}

/** Whether a preset says what a body does not. */
export function namesPreset(body: Named & { readonly preset?: string | null | undefined }): boolean {
  return body.preset != null || modelOf(body)?.includes('@preset/') === true
}

/** Finds that a body names no model at all, nor a preset that may name one. */
export function requireModel(body: Named & { readonly preset?: string | null | undefined }, problems: Problems): void {
  if (modelOf(body) === undefined && body.preset == null)
    problems.addIssue({ code: 'custom', path: ['model'], message: 'is required' })
}

interface Unapplied extends Named {
  readonly fallbacks?: readonly { readonly model: string }[] | null | undefined
  readonly route?: string | null | undefined
  readonly plugins?: readonly { readonly id: string; readonly enabled?: boolean | undefined }[] | null | undefined
  readonly stop_server_tools_when?: readonly unknown[] | null | undefined
  readonly debug?: { readonly echo_upstream_body?: boolean | null | undefined } | null | undefined
  readonly reasoning?:
    | { readonly mode?: string | null | undefined; readonly context?: string | null | undefined }
    | null
    | undefined
}

/** Names of the members of a body that are known but not applied yet, unless they have no effect anyway. */
export function notApplied(body: Unapplied): string[] {
  const served = modelOf(body)
  const other = (model: string): boolean => model !== served
  const applies: Readonly<Record<string, boolean>> = {
    models: body.models?.some(other) === true,
    fallbacks: body.fallbacks?.some(({ model }) => other(model)) === true,
    route: body.route != null,
    plugins: body.plugins?.some(({ enabled }) => enabled !== false) === true,
    stop_server_tools_when: body.stop_server_tools_when != null,
    'debug.echo_upstream_body': body.debug?.echo_upstream_body === true,
    'reasoning.mode': body.reasoning?.mode === 'pro',
    'reasoning.context': body.reasoning?.context === 'current_turn',
  }
  return Object.keys(applies).filter((name) => applies[name])
}
