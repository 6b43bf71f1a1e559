/** A blob of a workspace. */
export interface BlobKey {
  readonly workspace: string
  readonly hash: string
}

const START = '"blob":{"hash":"'
const REFERENCE = /"blob":\{"hash":"([0-9a-f]{64})"/g

/**
 * Hashes of the blobs that the JSON of a record refers to. A text that only looks like a reference keeps a blob that is
 * not needed, which does no harm.
 */
export function hashesIn(json: string): string[] {
  if (!json.includes(START)) return []
  return [...new Set(Array.from(json.matchAll(REFERENCE), ([, hash]) => hash as string))]
}
