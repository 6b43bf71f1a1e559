import type { z } from 'zod'
import { type Preset, Preset_Status, type PresetVersion } from '#gen/portico/inference/v1/preset_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import type { JsonOf } from '../kinds.ts'
import { fromMaybeMoment, fromMoment } from '../records/time.ts'
import type { designatedPreset, preset, presetVersion, statuses } from './schemas.ts'

const STATUSES = enumTable<z.output<typeof statuses>, Preset_Status>({
  active: Preset_Status.ACTIVE,
  disabled: Preset_Status.DISABLED,
  archived: Preset_Status.ARCHIVED,
})

export function fromPreset(record: Preset): JsonOf<typeof preset> {
  const status = STATUSES.fromProto(record.status)
  if (status === undefined) throw new Error('inference returned a preset with an unknown status')
  return {
    id: record.presetId,
    slug: record.slug,
    name: record.name,
    description: record.description ?? null,
    status,
    status_updated_at: fromMaybeMoment(record.statusUpdateTime),
    created_at: fromMoment(record.createTime),
    updated_at: fromMoment(record.updateTime),
    creator_user_id: record.creatorKeyId ?? '',
    workspace_id: workspaceUuid(record.workspaceId),
    designated_version_id: record.designatedVersionId,
  }
}

export function fromPresetVersion(version: PresetVersion | undefined): JsonOf<typeof presetVersion> {
  if (version === undefined) throw new Error('inference returned no version of a preset')
  const created = fromMoment(version.createTime)
  return {
    id: version.versionId,
    preset_id: version.presetId,
    version: version.version,
    config: version.config ?? {},
    system_prompt: version.systemPrompt ?? null,
    creator_id: version.creatorKeyId ?? '',
    created_at: created,
    updated_at: created,
  }
}

export function fromDesignated(record: {
  readonly preset?: Preset | undefined
  readonly designatedVersion?: PresetVersion | undefined
}): JsonOf<typeof designatedPreset> {
  if (record.preset === undefined) throw new Error('inference returned no preset')
  return { ...fromPreset(record.preset), designated_version: fromPresetVersion(record.designatedVersion) }
}
