import { create } from '@bufbuild/protobuf'
import { type Location, LocationSchema } from '#gen/portico/catalog/v1/catalog_pb.js'

/** A directory as a location, of a project of its own or in `project`. */
export function locationAt(directory: string, project = directory, projectId = 'global'): Location {
  const subpath = directory.slice(project.length + 1)
  const ofProject = { projectId, projectDirectory: project, canonicalDirectory: project }
  return create(LocationSchema, { directory, subpath, ...ofProject })
}
