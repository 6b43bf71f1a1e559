import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  Preset_Status,
  type PresetSchema,
  type PresetVersionSchema,
} from '#gen/portico/inference/v1/preset_service_pb.js'
import type { DesignatedPreset, Preset, PresetStatus, PresetVersion } from '#services/inference/domain/preset/preset.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'

const statuses = enumTable<PresetStatus, Preset_Status>({
  active: Preset_Status.ACTIVE,
  disabled: Preset_Status.DISABLED,
  archived: Preset_Status.ARCHIVED,
})

export function presetToProto(preset: Preset): MessageInitShape<typeof PresetSchema> {
  const { id: presetId, workspace: workspaceId, slug, name, description, statusUpdatedAt } = preset
  return {
    presetId,
    workspaceId,
    slug,
    name,
    ...(description === undefined ? {} : { description }),
    status: statuses.toProto(preset.status),
    ...(statusUpdatedAt === undefined ? {} : { statusUpdateTime: timestampFromMs(statusUpdatedAt) }),
    createTime: timestampFromMs(preset.createdAt),
    updateTime: timestampFromMs(preset.updatedAt),
    ...creatorOf(preset),
    designatedVersionId: preset.designatedVersionId,
  }
}

export function versionToProto(given: PresetVersion): MessageInitShape<typeof PresetVersionSchema> {
  const { id: versionId, presetId, version, config, systemPrompt, creatorKeyId, createdAt } = given
  return {
    versionId,
    presetId,
    version,
    config,
    ...creatorOf({ creatorKeyId }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    createTime: timestampFromMs(createdAt),
  }
}

export function designatedToProto({ preset, designated }: DesignatedPreset) {
  return { preset: presetToProto(preset), designatedVersion: versionToProto(designated) }
}

/** The local operator has no key. */
function creatorOf({ creatorKeyId }: { readonly creatorKeyId: string }): { readonly creatorKeyId?: string } {
  return creatorKeyId === '' ? {} : { creatorKeyId }
}
