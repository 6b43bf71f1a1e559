import type { z } from 'zod'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}
/** Names of formats that zod calls something else. */
const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'RFC 3339 date and time',
  url: 'URL',
  uuid: 'UUID',
  base64: 'base64 text',
}
const UNITS: Readonly<Record<string, string>> = { string: 'characters', array: 'items' }

/** The problem of a required value that is missing. */
export const MISSING = 'is required'

/**
 * Describes what is wrong with a value, in words that follow its path: `must be a string`. A message of the schema
 * itself takes precedence.
 */
export const schemaProblem: z.core.$ZodErrorMap = (issue) => {
  const { input } = issue
  if (input === undefined && ['invalid_type', 'invalid_value', 'invalid_union'].includes(issue.code)) return MISSING
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'never' ? 'must be omitted' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}`
    case 'too_big':
      return sizeProblem(issue.origin, issue.maximum, issue.exact, issue.inclusive ? 'at most' : 'less than')
    case 'too_small':
      if (issue.minimum === 1 && issue.origin in UNITS) return 'must not be empty'
      return sizeProblem(issue.origin, issue.minimum, issue.exact, issue.inclusive ? 'at least' : 'more than')
    case 'invalid_format':
      return issue.format === 'regex'
        ? `must match ${issue.pattern}`
        : `must be a valid ${FORMATS[issue.format] ?? issue.format}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `has the unknown ${issue.keys.length === 1 ? 'member' : 'members'} ${issue.keys.map(quote).join(', ')}`
    case 'invalid_key':
      return 'has an invalid member name'
    case 'invalid_union':
      return unionProblem(issue)
    default:
      return 'is not valid'
  }
}

/** Lists several values, with texts in quotes: `"a", "b" or "c"`. */
export function oneOf(values: readonly unknown[]): string {
  const quoted = values.map(quote)
  const last = quoted.pop() ?? ''
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

function sizeProblem(origin: string, limit: number | bigint, exact: boolean | undefined, bound: string): string {
  const unit = UNITS[origin]
  const size = `${exact ? 'exactly' : bound} ${limit}`
  return unit === undefined ? `must be ${size}` : `must have ${size} ${unit}`
}

// Alternatives that only refuse the type are all listed; for other ones, nobody knows which was meant.
function unionProblem({
  errors,
  options,
}: {
  readonly errors?: readonly z.core.$ZodIssue[][]
  readonly options?: unknown
}): string {
  if (Array.isArray(options) && options.length > 0) return `must be ${oneOf(options)}`
  const issues = (errors ?? []).map(([first]) => first)
  const types = issues.filter((issue) => issue?.code === 'invalid_type' && issue.path.length === 0)
  if (types.length === 0 || types.length < issues.length) return 'has none of the allowed forms'
  return [...new Set(types.map((issue) => issue?.message))].join(' or ').replaceAll(' or must be ', ' or ')
}
