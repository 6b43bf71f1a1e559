import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type GenerationRequest,
  GenerationRequestSchema,
  Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  CreatePresetVersionRequestSchema,
  ListPresetsRequestSchema,
  ListPresetVersionsRequestSchema,
  type PresetService,
} from '#gen/portico/inference/v1/preset_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { check } from '#shared/rpc/parse.ts'
import { presetSettings } from '../domain/preset/apply-preset.ts'
import { isSlug, namedModel } from '../domain/preset/reference.ts'
import type { PresetStore } from '../ports/preset-store.ts'
import { checkGeneration } from './generations.ts'

const checkNewVersion = checkLimits(CreatePresetVersionRequestSchema)
const parseSlice = sliceParser(ListPresetsRequestSchema)
const parseVersionSlice = sliceParser(ListPresetVersionsRequestSchema)

/** Handlers of the PresetService; see preset_service.proto. */
export function presetHandlers(dependencies: {
  readonly presets: PresetStore
  readonly clock: Clock
}): ServiceImpl<typeof PresetService> {
  const { presets, clock } = dependencies
  return {
    async createPresetVersion(request, context) {
      const { workspaceId, apiKeyId } = managerOf(context)
      checkNewVersion(request)
      const { slug, settings, config = {}, systemPrompt } = request
      check(isSlug(slug), 'slug', 'must contain only letters, digits and -._~')
      check(settings !== undefined, 'settings', 'must be set')
      return presets.createVersion(workspaceId, slug, {
        versionId: randomUUID(),
        presetId: randomUUID(),
        config,
        systemPrompt: systemPrompt || undefined,
        settings: checkedSettings(settings),
        // The local operator has no key.
        creatorKeyId: apiKeyId || undefined,
        createTime: clock.now(),
      })
    },

    async getPreset({ slug }, context) {
      return (await presets.get(principalOf(context).workspaceId, slug)) ?? missing(slug)
    },

    async listPresets(request, context) {
      const { items, total } = await presets.list(principalOf(context).workspaceId, parseSlice(request))
      return { presets: [...items], totalSize: total }
    },

    async listPresetVersions(request, context) {
      const { workspaceId } = principalOf(context)
      const page = await presets.listVersions(workspaceId, request.slug, parseVersionSlice(request))
      const { items, total } = page ?? missing(request.slug)
      return { versions: [...items], totalSize: total }
    },

    async getPresetVersion({ slug, version: number }, context) {
      const { workspaceId } = principalOf(context)
      const version = await presets.getVersion(workspaceId, slug, number)
      if (version !== undefined) return { version }
      if ((await presets.get(workspaceId, slug)) === undefined) missing(slug)
      throw new Rejection('PRESET_VERSION_NOT_FOUND', { slug, version: String(number) })
    },
  }
}

/** A request has these members besides its settings. */
const { requestId, messages } = create(GenerationRequestSchema, {
  requestId: 'preset',
  messages: [{ role: Role.USER, parts: [{ part: { case: 'text', value: { text: 'Hi' } } }] }],
})

/** The settings of a request to be stored. Rejects with REQUEST_INVALID if no request could have them. */
function checkedSettings(settings: GenerationRequest): GenerationRequest {
  check(namedModel(settings.model).slug === undefined, 'model', 'must not name a preset')
  checkGeneration({ ...settings, requestId, messages })
  return presetSettings(settings)
}

/** The principal of a call that requires a management key or the local operator. */
function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
}

function missing(slug: string): never {
  throw new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
}
