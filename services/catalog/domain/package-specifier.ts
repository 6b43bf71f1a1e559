/**
 * A package of npm's registry, as a configuration names it: `name`, `name@range`, `name@tag`, with or without a scope.
 */
export interface PackageSpecifier {
  /** As configured; updates refer to it by this text. */
  readonly target: string
  readonly name: string
  /** A version, a range of versions or a tag. */
  readonly wanted: string
}

const MOST_CHARACTERS = 214
const PART = '[a-z0-9~][a-z0-9._~-]*'
const SPECIFIER = new RegExp(`^(?<name>(?:@${PART}/)?${PART})(?:@(?<wanted>.*))?$`, 's')
/**
 * Git addresses, URLs, paths, aliases and GitHub repositories contain one of these; versions, ranges and tags contain
 * none.
 */
const ELSEWHERE = /[:/\\%]/
const WANTED = /^[\w.+~^<>=*|\s-]*$/

/**
 * Parses a specifier. Throws PackageError for anything that is not a package of the registry: git, URLs, files,
 * aliases.
 */
export function parsePackageSpecifier(target: string): PackageSpecifier {
  const { name, wanted } = SPECIFIER.exec(target)?.groups ?? {}
  const quoted = JSON.stringify(target.slice(0, MOST_CHARACTERS))
  if (name === undefined || ELSEWHERE.test(wanted ?? '')) {
    throw new PackageError(
      `${quoted} is no package of the registry (name, name@range or name@tag); git, URLs, files and aliases are refused`,
    )
  }
  if (target.length > MOST_CHARACTERS) throw new PackageError(`${quoted}… is longer than ${MOST_CHARACTERS} characters`)
  if (wanted !== undefined && !WANTED.test(wanted)) {
    throw new PackageError(`${quoted} names no version, range or tag after its last @`)
  }
  return { target, name, wanted: wanted?.trim() || 'latest' }
}

/** Why a package is not available, for people. */
export class PackageError extends Error {
  override readonly name = 'PackageError'
}
