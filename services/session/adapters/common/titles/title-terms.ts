/** What lists filter by, besides the title. */
export interface TitleScope {
  readonly workspace?: string
  readonly parentId?: string | null
  readonly directory?: string
  readonly projectId?: string
  readonly subpath?: string
}

/** FNV-1a. */
const BASIS = 0x811c9dc5
const PRIME = 0x01000193

/**
 * Numbers of 32 bits: one for each run of three characters (of UTF-16) in a text, then one for the value of each filter
 * that is given. Whatever contains the text has all of them, and a little else has, too, also because different ones
 * may share a number: they find candidates. Some may be there twice.
 */
export function termsOf({ workspace, parentId, directory, projectId, subpath }: TitleScope, text: string): number[] {
  const terms: number[] = []
  // SQLite replaces halves of characters.
  const whole = text.toWellFormed()
  for (let end = 3; end <= whole.length; end++) terms.push(hashOf(whole, end - 3, end, BASIS))
  if (workspace !== undefined) terms.push(markOf('workspace', workspace))
  if (parentId !== undefined) terms.push(markOf('parent', parentId ?? ''))
  if (directory !== undefined) terms.push(markOf('directory', directory))
  if (projectId !== undefined) terms.push(markOf('project', projectId))
  if (subpath !== undefined) terms.push(markOf('subpath', subpath))
  return terms
}

function markOf(filter: string, value: string): number {
  return hashOf(value, 0, value.length, hashOf(filter, 0, filter.length, BASIS))
}

function hashOf(text: string, from: number, to: number, basis: number): number {
  let hash = basis
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return hash
}
