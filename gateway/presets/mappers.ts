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

export function fromPreset(shown: Preset): JsonOf<typeof preset> {
  const status = STATUSES.fromProto(shown.status)
  if (status === undefined) throw new Error('inference returned a preset with an unknown status')
  return {
    id: shown.presetId,
    slug: shown.slug,
    name: shown.name,
    description: shown.description ?? null,
    status,
    status_updated_at: fromMaybeMoment(shown.statusUpdateTime),
    created_at: fromMoment(shown.createTime),
    updated_at: fromMoment(shown.updateTime),
    creator_user_id: shown.creatorKeyId ?? '',
    workspace_id: workspaceUuid(shown.workspaceId),
    designated_version_id: shown.designatedVersionId,
  }
}

export function fromPresetVersion(shown: PresetVersion | undefined): JsonOf<typeof presetVersion> {
  if (shown === undefined) throw new Error('inference returned no version of a preset')
  const created = fromMoment(shown.createTime)
  return {
    id: shown.versionId,
    preset_id: shown.presetId,
    version: shown.version,
    config: shown.config ?? {},
    system_prompt: shown.systemPrompt ?? null,
    creator_id: shown.creatorKeyId ?? '',
    created_at: created,
    updated_at: created,
  }
}

export function fromDesignated(shown: {
  readonly preset?: Preset | undefined
  readonly designatedVersion?: PresetVersion | undefined
}): JsonOf<typeof designatedPreset> {
  if (shown.preset === undefined) throw new Error('inference returned no preset')
  return { ...fromPreset(shown.preset), designated_version: fromPresetVersion(shown.designatedVersion) }
}
