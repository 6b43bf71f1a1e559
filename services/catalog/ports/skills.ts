import type { Skill } from '../domain/skill.ts'
import type { Source } from './source.ts'

/**
 * Knows the skills of locations, in order of their ids, which are unique. A file that cannot be read as a skill is logged, and
 * counts as it was when it was last read, else not at all.
 */
export type SkillSource = Source<readonly Skill[]>
