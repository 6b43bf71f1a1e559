import { Environment, ParseError, type ParseResult, TypeError as TypeProblem } from 'cel-js'
import { LRUCache } from 'lru-cache'
import type { Condition, ConditionProblem, Conditions } from '#services/identity/ports/conditions.ts'
import { measure, Refusal } from './measure.ts'
import { VARIABLES } from './shape.ts'

/** How many characters of conditions are kept, as they were read. */
const MAX_KEPT = 500_000

/** Conditions read by cel-js, behind a list of what may be used and a bound of what it may cost. */
export class CelConditions implements Conditions {
  readonly #environment = new Environment({
    limits: { maxAstNodes: 1000, maxDepth: 64, maxListElements: 128, maxMapEntries: 0, maxCallArguments: 4 },
  })
    .registerVariable('subject', 'string')
    .registerVariable('audience', 'list<string>')
    .registerVariable('scopes', 'list<string>')
    .registerVariable('token_type', 'string')
  readonly #kept = new LRUCache<string, Condition | ConditionProblem>({
    maxSize: MAX_KEPT,
    sizeCalculation: (_, text) => text.length + 1,
  })

  read(text: string): Condition | ConditionProblem {
    const kept = this.#kept.get(text)
    if (kept !== undefined) return kept
    const read = this.#compile(text)
    this.#kept.set(text, read)
    return read
  }

  #compile(text: string): Condition | ConditionProblem {
    if (text.length > 4000 || [...text].length > 2000) return { problem: 'must have at most 2000 characters' }
    try {
      const parsed = this.#environment.parse(text)
      const { valid, type, error } = parsed.check()
      if (!valid) throw error
      if (type !== 'bool') return { problem: `must be true or false (bool), and is of type ${type}` }
      return conditionOf(parsed, measure(parsed.ast))
    } catch (error) {
      return { problem: problemOf(error, text) }
    }
  }
}

function conditionOf(parsed: ParseResult, used: ReadonlySet<string>): Condition {
  return {
    usesSubject: used.has('subject'),
    usesScopes: used.has('scopes'),
    usesTokenType: used.has('token_type'),
    evaluate({ subject, audience, scopes, tokenType }) {
      const { stackTraceLimit } = Error
      // Nobody looks at the stacks of its errors, and they are most of what a condition with many of them costs.
      Error.stackTraceLimit = 0
      try {
        return parsed({ subject, audience, scopes, token_type: tokenType }) === true
      } catch {
        return 'error'
      } finally {
        Error.stackTraceLimit = stackTraceLimit
      }
    },
  }
}

/** A line for an admin. The library's own messages show only what was written. */
function problemOf(error: unknown, text: string): string {
  if (error instanceof Refusal) return `${error.message} (${placeOf(error.at, text)})`
  if (!(error instanceof ParseError || error instanceof TypeProblem)) return 'cannot be read'
  const { summary, range } = error
  const hint = summary.startsWith('Unknown variable') ? `; the variables are ${[...VARIABLES.keys()].join(', ')}` : ''
  return `is not a condition: ${summary.slice(0, 200).toWellFormed()} (${placeOf(range?.start ?? 0, text)})${hint}`
}

/** A place for people: lines and characters, from 1. */
function placeOf(at: number, text: string): string {
  const lines = text.slice(0, at).split('\n')
  return `line ${lines.length}, character ${[...(lines.at(-1) ?? '')].length + 1}`
}
