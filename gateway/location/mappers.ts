import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { JsonOf } from '../kinds.ts'
import type { locationInfo, locationRef } from './schemas.ts'

/**
 * The directory that a request is about: `location[directory]`, else the header `x-opencode-directory` (percent-encoded),
 * else empty, which means the default project directory (`contract/instance-facts.md` 1.1). Rejects with HEADER_INVALID.
 */
export function toDirectory(
  query: { readonly location?: { readonly directory?: string | undefined } | undefined },
  headers: { readonly 'x-opencode-directory'?: string | undefined },
): string {
  const given = query.location?.directory
  if (given !== undefined) return given
  const name = 'x-opencode-directory'
  const header = headers[name]
  if (header === undefined) return ''
  const directory = decode(header)
  if (directory === undefined) throw new Rejection('HEADER_INVALID', { field: name, problem: 'Not percent-encoded' })
  if (directory.includes('\0')) throw new Rejection('HEADER_INVALID', { field: name, problem: 'Contains NUL' })
  return directory
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export function fromLocationRef(location: Location | undefined): JsonOf<typeof locationRef> {
  return { directory: location?.directory ?? '' }
}

export function fromLocation(location: Location | undefined): JsonOf<typeof locationInfo> {
  return {
    directory: location?.directory ?? '',
    project: {
      id: location?.project?.projectId ?? '',
      directory: location?.project?.directory ?? '',
      canonical: location?.project?.canonicalDirectory ?? '',
    },
  }
}
