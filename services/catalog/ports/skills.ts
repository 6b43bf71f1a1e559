import type { Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Source } from './source.ts'

/**
 * Knows the skills of locations, in order of their ids, which are unique. A file that cannot be read is logged, and
 * keeps its last content, if there is any.
 */
export type SkillSource = Source<Skill[]>
