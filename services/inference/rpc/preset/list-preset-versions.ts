import type { ServiceImpl } from '@connectrpc/connect'
import { ListPresetVersionsRequestSchema, type PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { PresetStore } from '#services/inference/ports/preset-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { versionToProto } from './convert.ts'
import { notFound } from './parse.ts'

const parseSlice = sliceParser(ListPresetVersionsRequestSchema)

/** Lists the versions of a preset; see preset_service.proto. */
export function listPresetVersions(dependencies: {
  readonly presets: PresetStore
}): ServiceImpl<typeof PresetService>['listPresetVersions'] {
  const { presets } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const page = await presets.listVersions(workspaceId, request.slug, parseSlice(request))
    if (page === undefined) throw notFound(request.slug)
    return { versions: page.items.map(versionToProto), totalSize: page.total }
  }
}
