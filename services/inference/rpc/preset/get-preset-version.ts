import type { ServiceImpl } from '@connectrpc/connect'
import type { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import type { PresetStore } from '#services/inference/ports/preset-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { versionToProto } from './convert.ts'
import { notFound } from './parse.ts'

/** Gets a version of a preset; see preset_service.proto. */
export function getPresetVersion(dependencies: {
  readonly presets: PresetStore
}): ServiceImpl<typeof PresetService>['getPresetVersion'] {
  const { presets } = dependencies
  return async ({ slug, version }, context) => {
    const { workspaceId } = principalOf(context)
    const found = await presets.getVersion(workspaceId, slug, version)
    if (found !== undefined) return { version: versionToProto(found) }
    if ((await presets.get(workspaceId, slug)) === undefined) throw notFound(slug)
    throw new Rejection('PRESET_VERSION_NOT_FOUND', { slug, version: String(version) })
  }
}
