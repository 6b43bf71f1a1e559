import { z } from 'zod'

/** `Skill.Info`. */
export const skillInfo = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().optional(),
    location: z
      .string()
      .meta({ description: 'Absolute path of its file; everything else in that folder belongs to it' }),
    content: z.string(),
  })
  .meta({ id: 'Skill.Info' })
