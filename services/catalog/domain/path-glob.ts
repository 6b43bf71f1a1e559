type Matcher = (text: string) => boolean
type Token = { readonly any: true } | { readonly any: false; readonly matches: (character: string) => boolean }

const MAX_ALTERNATIVES = 256

/** A glob pattern that is invalid. */
export class GlobError extends Error {
  override readonly name = 'GlobError'
}

/**
 * Compiles a path pattern: `*` and `?` within a segment, `**` across segments, `[a-z]`, `[!a]`, `{a,b}`, and `\` before
 * a literal character. Names that begin with a dot are not special. No regular expression is built, and a match takes
 * at most pattern × path steps, whoever wrote the pattern. Throws GlobError.
 */
export function compileGlob(pattern: string): Matcher {
  const alternatives = expandBraces(pattern).map((text) => text.split('/').map(compileSegment))
  return (path) => {
    const segments = path.split('/')
    return alternatives.some((matchers) => matchSequence(matchers, segments))
  }
}

function compileSegment(segment: string): Matcher | '**' {
  if (segment === '**') return '**'
  const tokens = tokenize(segment)
  return (text) =>
    matchSequence(
      tokens.map((token) => (token.any ? '**' : token.matches)),
      [...text],
    )
}

// Matches a sequence against parts, where `**` matches any number of them: greedy, backtracking only to the last one.
function matchSequence(matchers: readonly (Matcher | '**')[], parts: readonly string[]): boolean {
  let at = 0
  let part = 0
  let star = -1
  let resume = 0
  while (part < parts.length) {
    const matcher = matchers[at]
    if (matcher === '**') {
      star = at++
      resume = part
    } else if (matcher?.(parts[part] ?? '') === true) {
      at++
      part++
    } else if (star >= 0) {
      at = star + 1
      part = ++resume
    } else {
      return false
    }
  }
  return matchers.slice(at).every((matcher) => matcher === '**')
}

function tokenize(segment: string): Token[] {
  const tokens: Token[] = []
  const characters = [...segment]
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] ?? ''
    const end = character === '[' ? characters.indexOf(']', index + 2) : -1
    if (character === '*') {
      tokens.push({ any: true })
    } else if (character === '?') {
      tokens.push({ any: false, matches: () => true })
    } else if (end > 0) {
      tokens.push({ any: false, matches: characterClass(characters.slice(index + 1, end)) })
      index = end
    } else {
      const literal = character === '\\' ? (characters[++index] ?? '\\') : character
      tokens.push({ any: false, matches: (candidate) => candidate === literal })
    }
  }
  return tokens
}

function characterClass(members: readonly string[]): Matcher {
  const negated = members[0] === '!' || members[0] === '^'
  const ranges: (readonly [string, string])[] = []
  for (let index = negated ? 1 : 0; index < members.length; index++) {
    const from = members[index] ?? ''
    const isRange = members[index + 1] === '-' && index + 2 < members.length
    ranges.push([from, isRange ? (members[index + 2] ?? from) : from])
    if (isRange) index += 2
  }
  return (character) => ranges.some(([from, to]) => character >= from && character <= to) !== negated
}

function expandBraces(pattern: string): string[] {
  const done: string[] = []
  const open = [pattern]
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    // The innermost group first: it contains no other.
    const group = /\{([^{},]*(?:,[^{},]*)+)\}/.exec(text)
    if (group === null) done.push(text)
    else for (const choice of (group[1] ?? '').split(',').reverse()) open.push(text.replace(group[0], () => choice))
    if (done.length + open.length > MAX_ALTERNATIVES) throw new GlobError('it has too many alternatives')
  }
  return [...new Set(done)]
}
