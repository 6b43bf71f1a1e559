import type { ServiceImpl } from '@connectrpc/connect'
import type { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { PresetStore } from '#services/inference/ports/preset-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { designatedToProto } from './convert.ts'
import { notFound } from './parse.ts'

/** Gets a preset with its designated version; see preset_service.proto. */
export function getPreset(dependencies: {
  readonly presets: PresetStore
}): ServiceImpl<typeof PresetService>['getPreset'] {
  const { presets } = dependencies
  return async ({ slug }, context) => {
    const { workspaceId } = principalOf(context)
    const found = await presets.get(workspaceId, slug)
    if (found === undefined) throw notFound(slug)
    return designatedToProto(found)
  }
}
