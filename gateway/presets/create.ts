import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import type { CreatePresetVersionRequestSchema } from '#gen/portico/inference/v1/preset_service_pb.js'
import { isObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { presetBody as chatBody } from '../chat/body.ts'
import { fieldNames as chatNames } from '../chat/public-field.ts'
import { toSettings as toChatSettings, toSystem as toChatSystem } from '../chat/to-settings.ts'
import { OF_MANAGERS } from '../credentials.ts'
import { cacheSettings, type GenerationInit, toIdentity } from '../generation/request.ts'
import { sharedSettings } from '../generation/settings.ts'
import { presetBody as messagesBody } from '../messages/body.ts'
import { fieldNames as messagesNames } from '../messages/public-field.ts'
import { toSettings as toMessagesSettings, toSystem as toMessagesSystem } from '../messages/to-settings.ts'
import { type Operation, operation } from '../operation.ts'
import { presetBody as responsesBody } from '../responses/body.ts'
import { fieldNames as responsesNames } from '../responses/public-field.ts'
import { toSettings as toResponsesSettings, toSystem as toResponsesSystem } from '../responses/to-settings.ts'
import { guarded, jsonProblem } from '../shape.ts'
import { fromDesignated } from './mappers.ts'
import { designatedPreset, newSlug } from './schemas.ts'
import { secretIn } from './secrets.ts'

type Config = NonNullable<MessageInitShape<typeof CreatePresetVersionRequestSchema>['config']>

/** How a dialect turns a body into a preset. */
interface PresetDialect<S extends z.ZodObject> {
  /** Last part of the path, as of the operation that generates. */
  readonly path: 'messages' | 'responses' | 'chat/completions'
  readonly id: string
  /** The members that are settings, and the one that contains the system text. */
  readonly body: S
  /** That member. */
  readonly system: keyof z.output<S> & string
  readonly toSettings: (body: z.output<S>) => GenerationInit
  /** Empty: none. */
  readonly toSystem: (body: z.output<S>) => string
  readonly fieldNames: (body: z.output<S>) => (field: string) => string
}

const DEPTH = 30
const SECRET = 'must be omitted: everybody who may use a preset can read it'
/** They are checked as the specification says, and not kept. */
const { user, session_id, trace, debug } = sharedSettings
const identity = { user, session_id, trace, debug }
/** Members besides the settings; those of the cache only apply to presets. */
const beside = { ...identity, ...cacheSettings }

/** Makes the operation that creates presets from bodies of a dialect. */
function createPresetFrom<S extends z.ZodObject>(dialect: PresetDialect<S>): Operation {
  const { path, id, body, system, toSettings, toSystem, fieldNames } = dialect
  const looked = new Set([...Object.keys(body.shape), ...Object.keys(beside)])
  const settingNames = new Set([...looked].filter((name) => name !== system && !(name in identity)))
  const configOf = (source: object): Config => pick(source, settingNames) as Config
  const checked = guarded(body.safeExtend(beside), (value) => {
    if (!isObject(value)) return undefined
    return jsonProblem(configOf(value), DEPTH)
  })
  return operation({
    id,
    method: 'post',
    path: `/api/v1/presets/{slug}/${path}`,
    credentials: OF_MANAGERS,
    summary: `Creates a preset, or a new version of one, from a body of /${path}`,
    description:
      'Members that control how an answer is made are stored unchanged. The conversation, its sender and the form of the answer are ignored. Secrets of servers that a provider calls are refused: everybody who may use a preset can read it.',
    params: z.object({ slug: newSlug }),
    body: checked,
    bodyAsGiven: true,
    limit: 'promptLimit',
    answer: z.strictObject({ data: designatedPreset }),
    errors: ['REQUEST_INVALID', 'PRESET_CONFLICT'],
    handle({ presets }, { params: { slug }, body, call }) {
      const secret = secretIn(configOf(body as object))
      if (secret !== undefined) throw new Rejection('BODY_INVALID', { field: secret, problem: SECRET })
      const settingsBody = pick(body as object, looked) as z.output<S>
      const systemPrompt = toSystem(settingsBody) || undefined
      const { notApplied = [], ...rest } = toSettings({ ...settingsBody, debug: undefined })
      const uncached = (body as { cache_enabled?: unknown }).cache_enabled === true ? ['cache_enabled'] : []
      const settings = { ...rest, ...toIdentity(settingsBody, {}), notApplied: [...notApplied, ...uncached] }
      return presets.createPresetVersion(
        { slug, config: configOf(settingsBody), settings, systemPrompt },
        call.options(),
      )
    },
    present: (created) => ({ data: fromDesignated(created) }),
    publicField(field, { body }) {
      if (field === 'system_prompt') return system
      // The body itself is kept.
      return field === 'config' ? '' : fieldNames(body as z.output<S>)(field)
    },
  })
}

function pick(from: object, names: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.has(name)))
}

export const createPresetFromResponse = createPresetFrom({
  path: 'responses',
  id: 'presets.createFromResponses',
  body: responsesBody,
  system: 'instructions',
  toSettings: toResponsesSettings,
  toSystem: toResponsesSystem,
  fieldNames: (body) => responsesNames({ body }),
})

export const createPresetFromChat = createPresetFrom({
  path: 'chat/completions',
  id: 'presets.createFromChat',
  body: chatBody,
  system: 'messages',
  toSettings: toChatSettings,
  toSystem: toChatSystem,
  fieldNames: (body) => chatNames({ body }),
})

export const createPresetFromMessages = createPresetFrom({
  path: 'messages',
  id: 'presets.createFromMessages',
  body: messagesBody,
  system: 'system',
  toSettings: toMessagesSettings,
  toSystem: toMessagesSystem,
  fieldNames: (body) => messagesNames({ body }),
})
