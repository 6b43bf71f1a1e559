import { type PermissionRule, PermissionRule_Effect, type Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import { matches } from '#shared/permission-pattern.ts'

/** Maximum number of characters of the list that a model is shown. */
const MAX_LIST = 16 << 10

/**
 * Lists the skills for a model; undefined: it may read none. Skills that the agent's rules deny are left out, since the
 * model could only try them in vain; those that require a permission request are not.
 */
export function skillList(skills: readonly Skill[], rules: readonly PermissionRule[]): string | undefined {
  const lines = skills.filter(({ skillId }) => !isDenied(rules, skillId)).map(lineOf)
  if (lines.length === 0) return undefined
  const listed: string[] = []
  let room = MAX_LIST
  for (const line of lines) {
    room -= line.length
    if (room >= 0) listed.push(line)
  }
  const left = lines.length - listed.length
  const more = left === 0 ? [] : [left === 1 ? '(1 more is not listed here.)' : `(${left} more are not listed here.)`]
  const heading = `There are skills, which say how a kind of work is done here. Before you begin such work, read its skill with the tool "skill":`
  return [heading, ...listed, ...more].join('\n')
}

function lineOf({ skillId, name, description }: Skill): string {
  const note = [name === skillId ? '' : name, description ?? ''].filter((part) => part !== '').join(': ')
  return `- ${skillId}${note === '' ? '' : ` (${note.trim().replaceAll(/\s+/g, ' ')})`}`
}

function isDenied(rules: readonly PermissionRule[], id: string): boolean {
  const rule = rules.findLast(({ action, resource }) => matches(action, 'skill') && matches(resource, id))
  return rule?.effect === PermissionRule_Effect.DENY
}
