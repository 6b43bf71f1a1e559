import { z } from 'zod'
import { CreatePresetVersionRequestSchema } from '#gen/portico/inference/v1/preset_service_pb.js'
import { limitedBy } from '../shape.ts'

/** Slug of a preset that may be new. */
export const newSlug = limitedBy(
  CreatePresetVersionRequestSchema.field.slug,
  z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._~-]*$/, 'must contain only letters, digits and -._~'),
).meta({ description: 'Preset; created if it does not exist' })
