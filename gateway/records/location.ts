import { z } from 'zod'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { SessionLocation } from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { JsonOf } from '../kinds.ts'
import { name } from './ids.ts'

export const locationRef = z
  .strictObject({ directory: name })
  .meta({ id: 'Location.PublicRef', description: 'A project directory' })

export const sessionLocation = {
  location: locationRef,
  projectID: z.string(),
  subpath: z.string(),
}

export const locationQuery = z.object({
  location: z
    .object({
      directory: z.string().optional(),
      workspace: z.string().optional().meta({ deprecated: true, description: 'Sent by clients of 1.x, and ignored' }),
    })
    .optional()
    .meta({
      description: 'The project directory of the request; default: that of the header',
      param: { style: 'deepObject', explode: true },
    }),
})

export const locationHeaders = z.object({
  'x-opencode-directory': z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The directory, percent-encoded; default: that of the server' }),
})

/**
 * The directory that a request is about: `location[directory]`, else the header `x-opencode-directory`
 * (percent-encoded), else undefined, which means the default project directory. Rejects with HEADER_INVALID.
 */
export function toDirectory(
  query: z.output<typeof locationQuery>,
  headers: z.output<typeof locationHeaders>,
): string | undefined {
  if (query.location?.directory !== undefined) return query.location.directory
  const field = 'x-opencode-directory'
  const header = headers[field]
  if (header === undefined) return undefined
  const directory = decoded(header)
  if (directory === undefined) throw new Rejection('HEADER_INVALID', { field, problem: 'must be percent-encoded' })
  if (directory.includes('\0')) throw new Rejection('HEADER_INVALID', { field, problem: 'must not contain NUL' })
  return directory
}

export function fromLocationRef(location: Location | undefined): JsonOf<typeof locationRef> {
  return { directory: location?.directory ?? '' }
}

export function fromSessionLocation(at: SessionLocation | undefined) {
  if (at === undefined) throw new Error('The session service returned no location')
  return { location: { directory: at.directory }, projectID: at.projectId, subpath: at.subpath }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
