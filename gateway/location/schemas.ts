import { z } from 'zod'

const directory = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[^\0]*$/, 'Must not contain NUL')

/** `Location.PublicRef`. */
export const locationRef = z.strictObject({ directory }).meta({ id: 'Location.PublicRef' })

/** `Location.PublicInfo` (`contract/instance-facts.md` 1.1). */
export const locationInfo = z
  .strictObject({
    directory: z.string(),
    project: z.strictObject({ id: z.string(), directory: z.string(), canonical: z.string() }),
  })
  .meta({ id: 'Location.PublicInfo' })

/** Query of an operation about a location. */
export const locationQuery = {
  location: z
    .object({
      directory: z.string().optional(),
      workspace: z.string().optional().meta({ deprecated: true, description: 'Sent by clients of 1.x, and ignored' }),
    })
    .optional()
    .meta({ description: 'The project directory that the request is about; default: the one of the header' }),
}

/** Headers of an operation about a location. */
export const locationHeaders = {
  'x-opencode-directory': z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The directory, percent-encoded; default: the one that the server is set to' }),
}
