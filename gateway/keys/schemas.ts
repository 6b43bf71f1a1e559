import { z } from 'zod'
import { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import { CreateApiKeyRequestSchema, ListApiKeysRequestSchema } from '#gen/portico/identity/v1/identity_service_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { responsesDialects } from '../generation/responses-dialect.ts'
import { workspaceId } from '../records/ids.ts'
import { moment } from '../records/time.ts'
import { limitedBy } from '../shape.ts'

const reset = z.enum(['daily', 'weekly', 'monthly'])
const dialects = z.enum(responsesDialects.names)
const terms = KeyTermsSchema.field
const { least, most } = limitOf(terms.limitNanos)
const dollars = z
  .number()
  .min(least / 1e9)
  .max(most / 1e9)

/** The settings of a key, when it is created and later. */
const settings = {
  name: limitedBy(CreateApiKeyRequestSchema.field.name, z.string()),
  limit: dollars.nullable().meta({ description: 'US dollars that may be spent per period; null: no limit' }),
  limit_reset: reset.nullable().meta({ description: 'When spending starts at zero again, at 00:00 UTC; null: never' }),
  expires_at: z.iso.datetime({ offset: true }).nullable().meta({ description: 'In the future; null: never' }),
  include_byok_in_limit: z
    .boolean()
    .meta({ description: 'Stored as given: callers cannot have their own provider keys yet' }),
  requests_per_minute: limitedBy(terms.requestsPerMinute, z.int32()).nullable(),
  tokens_per_minute: limitedBy(terms.tokensPerMinute, z.int())
    .nullable()
    .meta({ description: 'Input and output together' }),
  concurrent_requests: limitedBy(terms.concurrentRequests, z.int32()).nullable(),
  allowed_models: limitedBy(terms.allowedModels, z.array(z.string())).nullable().meta({
    description: '`provider/model`, or a model of any provider; `*` matches any text; null or empty: all models',
  }),
  responses_dialect: dialects
    .nullable()
    .meta({ description: 'The events of streamed responses; null: the server’s default' }),
  history_ids: z.boolean().nullable().meta({
    description: 'Whether assistant messages of a history require `id` and `status`; null: the server’s default',
  }),
}

const workspace = z.string().meta({
  description: "That of the management key, either as in a key's `workspace_id`, or as the operator sees it (`wrk_…`)",
})

/** Members that OpenRouter's clients may send: accepted, and without effect. */
const ignored = {
  creator_user_id: z.string().nullable().meta({ description: 'Ignored: the key that creates it is its creator' }),
  external: z
    .strictObject({ user: z.string(), api_key: z.string().optional() })
    .meta({ description: 'Ignored: there are no keys of partners' }),
}

/** Body of keys.create; closed, since a limit that is misspelt would be none (ADR 22). */
export const createKeyBody = z
  .strictObject({ ...settings, ...ignored, workspace_id: workspace })
  .partial()
  .required({ name: true })

/** Body of keys.update: what is left out stays as it is. */
export const updateKeyBody = z.strictObject({ ...settings, disabled: z.boolean() }).partial()

export type KeyBody = z.output<typeof updateKeyBody>

/** How many keys there are on a page. */
export const { most: KEYS_ON_PAGE } = limitOf(ListApiKeysRequestSchema.field.pageSize)

export const listKeysQuery = z.object({
  include_disabled: z.enum(['true', 'false']).optional().meta({ description: 'Default: false' }),
  offset: z
    .string()
    .regex(/^\d{1,9}$/, 'must be an integer, at least 0')
    .optional()
    .meta({ description: `How many to skip; a page has at most ${KEYS_ON_PAGE}` }),
  workspace_id: workspace.optional(),
})

const usage = {
  usage: z.number().meta({ description: 'US dollars in total' }),
  usage_daily: z.number().meta({ description: 'US dollars today, by UTC' }),
  usage_weekly: z.number().meta({ description: 'US dollars since Monday' }),
  usage_monthly: z.number().meta({ description: 'US dollars since the first of the month' }),
  byok_usage: z.literal(0),
  byok_usage_daily: z.literal(0),
  byok_usage_weekly: z.literal(0),
  byok_usage_monthly: z.literal(0),
}

const common = {
  label: z.string().meta({ description: 'The beginning of the key' }),
  limit: dollars.nullable(),
  limit_remaining: dollars.nullable().meta({ description: 'In the current period' }),
  limit_reset: reset.nullable(),
  include_byok_in_limit: z.boolean(),
  ...usage,
  expires_at: moment.nullable(),
  creator_user_id: z.string().nullable().meta({ description: 'Key that created it; null: the operator did' }),
  requests_per_minute: z.int32().nullable(),
  tokens_per_minute: z.int().nullable(),
  concurrent_requests: z.int32().nullable(),
  allowed_models: z.array(z.string()).nullable(),
  responses_dialect: dialects.nullable(),
  history_ids: z.boolean().nullable(),
}

/** A key, as those who manage keys see it. */
export const key = z
  .strictObject({
    hash: z.string().meta({ description: 'SHA-256 of the key in hexadecimal digits' }),
    key_id: z.string().meta({ description: 'The id of the key in federation policies and the audit log' }),
    name: z.string(),
    disabled: z.boolean(),
    ...common,
    created_at: moment,
    updated_at: moment.nullable().meta({ description: 'Null: never since it was created' }),
    external_user: z.null(),
    workspace_id: workspaceId,
  })
  .meta({ id: 'ApiKey' })

/** A key, as it sees itself. */
export const ownKey = z
  .strictObject({
    ...common,
    is_free_tier: z.literal(false),
    is_management_key: z.boolean(),
    is_provisioning_key: z.boolean().meta({ description: 'An older name of is_management_key' }),
    organization_id: z.string(),
    workspace_id: workspaceId,
    allowed_data_regions: z.array(z.literal('global')),
    free_model_daily_requests: z
      .strictObject({ limit: z.literal(0), remaining: z.literal(0), used: z.literal(0) })
      .meta({ description: 'No model has a free daily allowance' }),
    rate_limit: z
      .strictObject({ requests: z.int(), interval: z.literal('1m'), note: z.string() })
      .meta({ description: 'Requests per minute; -1: no limit' }),
  })
  .meta({ id: 'OwnApiKey' })
