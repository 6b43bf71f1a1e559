import type { ServiceImpl } from '@connectrpc/connect'
import { ListPresetsRequestSchema, type PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { PresetStore } from '#services/inference/ports/preset-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { presetToProto } from './convert.ts'

const parseSlice = sliceParser(ListPresetsRequestSchema)

/** Lists presets; see preset_service.proto. */
export function listPresets(dependencies: {
  readonly presets: PresetStore
}): ServiceImpl<typeof PresetService>['listPresets'] {
  const { presets } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const { items, total } = await presets.list(workspaceId, parseSlice(request))
    return { presets: items.map(presetToProto), totalSize: total }
  }
}
