import { z } from 'zod'
import { type Preset, Preset_Status, type PresetVersion } from '#gen/portico/inference/v1/preset_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import type { JsonOf } from '../kinds.ts'
import { workspaceId } from '../records/ids.ts'
import { fromMaybeMoment, fromMoment, moment } from '../records/time.ts'

/** A version of a preset. */
export const presetVersion = z
  .strictObject({
    id: z.uuid(),
    preset_id: z.uuid(),
    version: z.int().min(1).meta({ description: 'Counts from 1' }),
    config: z.record(z.string(), z.unknown()).meta({ description: 'The settings as they were given.' }),
    system_prompt: z.string().nullable().meta({ description: 'Instructions for requests that have none' }),
    creator_id: z.string().meta({ description: 'Id of the key that created it' }),
    created_at: moment,
    updated_at: moment.meta({ description: 'The same as `created_at`, since a version never changes' }),
  })
  .meta({ id: 'PresetVersion' })

const statuses = z.enum(['active', 'disabled', 'archived'])
type Status = z.output<typeof statuses>

const members = {
  id: z.uuid(),
  slug: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  status: statuses.meta({ description: 'Requests can only use an active one' }),
  status_updated_at: moment.nullable(),
  created_at: moment,
  updated_at: moment,
  creator_user_id: z.string().meta({ description: 'Id of the key that created it' }),
  workspace_id: workspaceId,
  designated_version_id: z.uuid().meta({ description: 'The version that requests are served with' }),
}

/** A preset, as it is listed. */
export const preset = z.strictObject(members).meta({ id: 'Preset' })

/** A preset by itself. */
export const designatedPreset = z
  .strictObject({ ...members, designated_version: presetVersion })
  .meta({ id: 'PresetWithDesignatedVersion' })

const STATUSES = enumTable<Status, Preset_Status>({
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
