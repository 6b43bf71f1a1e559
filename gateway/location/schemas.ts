import { z } from 'zod'

/** `Location.PublicInfo` (instance facts 1.1). */
export const locationInfo = z
  .strictObject({
    directory: z.string(),
    project: z.strictObject({ id: z.string(), directory: z.string(), canonical: z.string() }),
  })
  .meta({ id: 'Location.PublicInfo' })
