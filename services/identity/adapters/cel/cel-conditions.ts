import { createContext, Script } from 'node:vm'
import { type ASTNode, Environment, ParseError, type ParseResult, TypeError as TypeProblem } from 'cel-js'
import { LRUCache } from 'lru-cache'
import type { Condition, ConditionProblem, Conditions } from '#services/identity/ports/conditions.ts'
import { isObject } from '#shared/json.ts'
import { checkExpression, MACROS, METHODS, Refusal, VARIABLES } from './check-expression.ts'
import { pinsSubject } from './pins.ts'

const CALLS: readonly string[] = [...METHODS, ...MACROS]
/** How many characters of parsed conditions are cached. */
const MAX_KEPT = 500_000

/** Maximum CPU time of one evaluation, in milliseconds. */
const MOST_MS = 5

/** Conditions parsed by cel-js, restricted to a list of permitted constructs and evaluated within a time limit. */
export class CelConditions implements Conditions {
  readonly #environment = new Environment({
    limits: { maxAstNodes: 1000, maxDepth: 64, maxListElements: 128, maxMapEntries: 0, maxCallArguments: 4 },
  })
    .registerVariable('subject', 'string')
    .registerVariable('audience', 'list<string>')
    .registerVariable('scopes', 'list<string>')
    .registerVariable('token_type', 'string')
  readonly #cache = new LRUCache<string, Condition | ConditionProblem>({
    maxSize: MAX_KEPT,
    sizeCalculation: (_, text) => text.length + 1,
  })

  read(text: string): Condition | ConditionProblem {
    const kept = this.#cache.get(text)
    if (kept !== undefined) return kept
    const read = this.#compile(text)
    this.#cache.set(text, read)
    return read
  }

  #compile(text: string): Condition | ConditionProblem {
    if (text.length > 4000 || [...text].length > 2000) return { problem: 'must have at most 2000 characters' }
    try {
      const parsed = this.#environment.parse(text)
      const { valid, type, error } = parsed.check()
      if (!valid) throw unknownCall(parsed.ast) ?? error
      if (type !== 'bool') return { problem: `must be of type bool (true or false), not ${type}` }
      return conditionOf(parsed)
    } catch (error) {
      return { problem: problemOf(error, text) }
    }
  }
}

function conditionOf(parsed: ParseResult): Condition {
  const { variables, repeats } = checkExpression(parsed.ast)
  return {
    pinsSubject: (names) => pinsSubject(parsed.ast, names),
    usesScopes: variables.has('scopes'),
    usesTokenType: variables.has('token_type'),
    evaluate({ subject, audience, scopes, tokenType }) {
      const evaluate = () => parsed({ subject, audience, scopes, token_type: tokenType }) === true
      const { stackTraceLimit } = Error
      // Nobody reads the stack traces of its errors, and they are most of the cost of a condition with many errors.
      Error.stackTraceLimit = 0
      try {
        return repeats ? runInTime(evaluate) : evaluate()
      } catch {
        return 'error'
      } finally {
        Error.stackTraceLimit = stackTraceLimit
      }
    },
  }
}

const timed = { context: createContext({}), script: new Script('run()') }

/**
 * The result of a function that V8 ends, in the middle of a loop if need be, once it has used 5 ms of CPU time; throws
 * then. Starting the clock, a thread, takes some 50 µs.
 */
function runInTime<T>(run: () => T): T {
  timed.context.run = run
  for (let timeout = MOST_MS; ; timeout *= 2) {
    const start = process.threadCpuUsage()
    try {
      return timed.script.runInContext(timed.context, { timeout })
    } catch (error) {
      const { user, system } = process.threadCpuUsage(start)
      const isOver = user + system >= 1_000 * MOST_MS
      // On a busy machine, the clock may run out while others run.
      if (isOver || !isObject(error) || error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    }
  }
}

/** One line for an admin. The library's own messages only show the source. */
function problemOf(error: unknown, text: string): string {
  if (error instanceof Refusal) return `${error.message} (${placeOf(error.at, text)})`
  if (!(error instanceof ParseError || error instanceof TypeProblem)) return 'cannot be read'
  const { summary, range } = error
  const [, unknown] = /^Unknown variable: (\w+)/.exec(summary) ?? []
  const variables = [...VARIABLES.keys()]
  const hint = unknown === undefined ? '' : `${meant(unknown, variables)}; the variables are ${variables.join(', ')}`
  return `is not valid: ${summary.slice(0, 200).toWellFormed()} (${placeOf(range?.start ?? 0, text)})${hint}`
}

/** The first call of a function that conditions do not have, since other errors follow from it. */
function unknownCall(node: ASTNode): Refusal | undefined {
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args
    const at = node.op === 'call' ? node.start : node.args[1].end
    if (!CALLS.includes(name)) return new Refusal(`must not use ${name}()${meant(name, CALLS)}`, { start: at })
  }
  for (const child of childrenOf(node.args)) {
    const problem = unknownCall(child)
    if (problem !== undefined) return problem
  }
  return undefined
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf)
  return typeof args === 'object' && args !== null && 'op' in args ? [args as ASTNode] : []
}

function meant(written: string, names: readonly string[]): string {
  const near = nearName(written, names)
  return near === undefined || near === written ? '' : ` (did you mean ${near}?)`
}

/** A position for people: line and column, from 1. */
function placeOf(at: number, text: string): string {
  const lines = text.slice(0, at).split('\n')
  return `line ${lines.length}, character ${[...(lines.at(-1) ?? '')].length + 1}`
}

/** Most letters by which a misspelt name may differ. */
const MOST_EDITS = 2

/** The name that somebody may have meant who wrote a similar one; undefined: none. */
function nearName(written: string, names: readonly string[]): string | undefined {
  const near = names.map((name) => ({ name, edits: edits(plain(written), plain(name)) }))
  const [nearest] = near.toSorted((one, other) => one.edits - other.edits)
  // Two edits change most of a short name.
  const most = Math.min(MOST_EDITS, Math.floor(written.length / 3))
  return nearest !== undefined && nearest.edits <= most ? nearest.name : undefined
}

/** Some people write `tokenType`, or `startswith`. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

/** How many letters must be added, removed or replaced to turn one text into the other (Levenshtein distance). */
function edits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, its] of [...other].entries()) {
      const [above = 0, left = 0, before = 0] = [row[j + 1], next[j], row[j]]
      next.push(Math.min(above + 1, left + 1, before + (letter === its ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
