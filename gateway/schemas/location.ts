import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'

/** `Location.PublicRef`. */
export function locationRefJson(location: Location | undefined) {
  return { directory: location?.directory ?? '' }
}

/** `Location.PublicInfo` (`contract/instance-facts.md` 1.1). */
export function locationInfo(location: Location | undefined) {
  return {
    directory: location?.directory ?? '',
    project: {
      id: location?.project?.projectId ?? '',
      directory: location?.project?.directory ?? '',
      canonical: location?.project?.canonicalDirectory ?? '',
    },
  }
}
