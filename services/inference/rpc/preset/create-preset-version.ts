import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { CreatePresetVersionRequestSchema, type PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { PresetStore } from '#services/inference/ports/preset-store.ts'
import type { Clock } from '#shared/clock.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { designatedToProto } from './convert.ts'
import { managerOf, parseSlug } from './parse.ts'
import { toStoredSettings } from './settings.ts'

const checkRequest = checkLimits(CreatePresetVersionRequestSchema)

/** Creates a version of a preset; see preset_service.proto. */
export function createPresetVersion(dependencies: {
  readonly presets: PresetStore
  readonly clock: Clock
}): ServiceImpl<typeof PresetService>['createPresetVersion'] {
  const { presets, clock } = dependencies
  return async (request, context) => {
    const { workspaceId, apiKeyId } = managerOf(context)
    checkRequest(request)
    const slug = parseSlug(request.slug)
    check(request.settings !== undefined, 'settings', 'must be set')
    const created = await presets.createVersion(workspaceId, slug, {
      id: randomUUID(),
      presetId: randomUUID(),
      config: request.config ?? {},
      systemPrompt: request.systemPrompt || undefined,
      settings: toStoredSettings(request.settings),
      creatorKeyId: apiKeyId,
      createdAt: clock.now(),
    })
    return designatedToProto(created)
  }
}
