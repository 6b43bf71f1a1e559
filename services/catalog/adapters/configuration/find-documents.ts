import { dirname, join } from 'node:path'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type ExistingFile, findFile } from '../files/find-file.ts'

/** Names of configuration documents, lowest precedence first. */
export const DOCUMENT_NAMES: readonly string[] = ['opencode.json', 'opencode.jsonc']

export interface DocumentFile extends ExistingFile {
  /** It is in the user's own configuration directory. */
  readonly own: boolean
}

/** The documents that were found, and where they were looked for. */
export interface DocumentFiles {
  readonly files: readonly DocumentFile[]
  /** Every file that was looked for, existing or not. */
  readonly places: readonly string[]
}

/** The directories of a project from its root down to a location. */
export function levelsOf(location: Location): string[] {
  const project = location.projectDirectory
  const levels = [location.directory]
  while (levels[0] !== undefined && levels[0] !== project) levels.unshift(dirname(levels[0]))
  return levels
}

/**
 * Finds the documents of a location's configuration, lowest precedence first: those of the global configuration
 * directory; of the project, from its root down to the location; of the `.opencode` directories, in the same order. A
 * link out of the project is not followed. Throws if the system has no descriptors left.
 */
export async function findDocuments(configDirectory: string, location: Location): Promise<DocumentFiles> {
  const levels = levelsOf(location)
  const inEach = (directory: string): string[] => DOCUMENT_NAMES.map((name) => join(directory, name))
  const own = inEach(configDirectory)
  const local = [...levels, ...levels.map((level) => join(level, '.opencode'))].flatMap(inEach)
  const documents = await Promise.all([
    ...own.map(async (path) => toDocuments(await findFile(path), true)),
    ...local.map(async (path) => toDocuments(await findFile(path, location.projectDirectory), false)),
  ])
  return { files: documents.flat(), places: [...own, ...local] }
}

function toDocuments(file: ExistingFile | undefined, own: boolean): DocumentFile[] {
  return file === undefined ? [] : [{ ...file, own }]
}
