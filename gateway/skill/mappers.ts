import type { Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonOf } from '../kinds.ts'
import type { skillInfo } from './schemas.ts'

export function fromSkill({ skillId, name, description, path, text }: Skill): JsonOf<typeof skillInfo> {
  return { id: skillId, name, description, location: path, content: text }
}
