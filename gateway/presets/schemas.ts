import { z } from 'zod'
import { CreatePresetVersionRequestSchema } from '#gen/portico/inference/v1/preset_service_pb.js'
import { workspaceId } from '../records/ids.ts'
import { moment } from '../records/time.ts'
import { limitedBy } from '../shape.ts'

/** Slug of a preset that may be new. */
export const newSlug = limitedBy(
  CreatePresetVersionRequestSchema.field.slug,
  z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._~-]*$/, 'must contain only letters, digits and -._~'),
).meta({ description: 'Preset; created if it does not exist' })

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

export const statuses = z.enum(['active', 'disabled', 'archived'])

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

export const preset = z.strictObject(members).meta({ id: 'Preset' })

export const designatedPreset = z
  .strictObject({ ...members, designated_version: presetVersion })
  .meta({ id: 'PresetWithDesignatedVersion' })
