import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonOf } from '../kinds.ts'
import type { locationInfo } from './schemas.ts'

export function fromLocation(location: Location | undefined): JsonOf<typeof locationInfo> {
  if (location === undefined) throw new Error('The catalog returned no location')
  const { directory, project } = location
  return {
    directory,
    project: {
      id: project?.projectId ?? '',
      directory: project?.directory ?? '',
      canonical: project?.canonicalDirectory ?? '',
    },
  }
}
