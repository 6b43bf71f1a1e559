import type { ASTNode } from 'cel-js'

/** The result of an expression. `most`: the maximum absolute value. `element` undefined: the empty list. */
type Shape =
  | { readonly type: 'bool' | 'string' }
  | { readonly type: 'int'; readonly most: bigint }
  | { readonly type: 'list'; readonly element: Shape | undefined }

const BOOL: Shape = { type: 'bool' }
const STRING: Shape = { type: 'string' }
const STRINGS: Shape = { type: 'list', element: STRING }
/** No text and no list is longer: a condition has at most 1,000 expressions, and a token at most 16,384 characters. */
const SIZE: Shape = { type: 'int', most: 2n ** 24n }
const INT64_END = 2n ** 63n

export const METHODS: readonly string[] = ['startsWith', 'endsWith', 'contains', 'size']
export const MACROS: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map']
export const VARIABLES: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['subject', STRING],
  ['audience', STRINGS],
  ['scopes', STRINGS],
  ['token_type', STRING],
])

const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=', 'in']
const NAMES: Readonly<Record<string, string>> = {
  '.': 'fields',
  map: 'maps',
  '-_': 'negation',
  '/': 'division',
  '%': 'remainders',
}

/** Why an expression is refused, and where: `at` counts UTF-16 units from 0. */
export class Refusal extends Error {
  readonly at: number

  constructor(problem: string, { start }: Pick<ASTNode, 'start'>) {
    super(problem)
    this.at = start
  }
}

function refuse(problem: string, node: Pick<ASTNode, 'start'>): never {
  throw new Refusal(problem, node)
}

type Node<Op extends ASTNode['op']> = Extract<ASTNode, { readonly op: Op }>

/** The variables in scope; `isBody`: within an argument of a macro. */
interface Place {
  readonly variables: ReadonlyMap<string, Shape>
  readonly isBody: boolean
}

/** What an expression uses. `repeats`: something that takes longer than its text shows, since claims may be large. */
interface Uses {
  readonly variables: Set<string>
  repeats: boolean
}

/**
 * Walks an expression that has passed the type checker. Throws a {@link Refusal} at anything that is not in the list
 * below, or that has different results in different implementations of CEL. Returns what it uses.
 */
export function checkExpression(node: ASTNode): Readonly<Uses> {
  const uses: Uses = { variables: new Set(), repeats: false }
  shapeOf(node, { variables: VARIABLES, isBody: false }, uses)
  return uses
}

function shapeOf(node: ASTNode, place: Place, uses: Uses): Shape {
  const of = (child: ASTNode): Shape => shapeOf(child, place, uses)
  switch (node.op) {
    case 'value':
      return literalShape(node)
    case 'id':
      if (VARIABLES.has(node.args)) uses.variables.add(node.args)
      return place.variables.get(node.args) ?? refuse(`must not use ${node.args}`, node)
    case 'list': {
      const [first, ...others] = node.args.map(of)
      const element = others.reduce<Shape | undefined>((one, other) => one && joined(one, other), first)
      if (element === undefined && first !== undefined) throw new Refusal('must not mix types in a list', node)
      return { type: 'list', element }
    }
    case '!_':
      of(node.args)
      return BOOL
    case '&&':
    case '||':
      node.args.forEach(of)
      return BOOL
    case '?:': {
      const [condition, one, other] = node.args
      // CEL requires parentheses here, which are no longer visible.
      if (one.op === '?:') throw new Refusal('must not have a choice in the middle of another', one)
      of(condition)
      return joined(of(one), of(other)) ?? refuse('must not choose between types', node)
    }
    case '[]': {
      const [list, index] = [of(node.args[0]), of(node.args[1])]
      if (list.type === 'list' && list.element !== undefined && index.type === 'int') return list.element
      throw new Refusal('must use an integer as the index of a list', node)
    }
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'in':
      return comparisonShape(node, of)
    case '+':
    case '-':
    case '*':
      uses.repeats = true
      return arithmeticShape(node, of)
    case 'call': {
      const [name, [argument, ...others]] = node.args
      if (name !== 'size' || argument === undefined || others.length > 0) {
        throw new Refusal(`must not use ${name}()`, node)
      }
      uses.repeats = true
      of(argument)
      return SIZE
    }
    case 'rcall': {
      const [name, receiver, args] = node.args
      if (name === 'size' || name === 'contains' || MACROS.includes(name)) uses.repeats = true
      if (MACROS.includes(name)) return macroShape(node, place, uses)
      if (!METHODS.includes(name)) throw new Refusal(`must not use ${name}()`, { start: receiver.end })
      of(receiver)
      args.forEach(of)
      return name === 'size' ? SIZE : BOOL
    }
    default:
      throw new Refusal(`must not use ${NAMES[node.op] ?? node.op}`, node)
  }
}

function literalShape(node: Node<'value'>): Shape {
  const { args: value, input, start } = node
  if (typeof value === 'boolean') return BOOL
  if (typeof value === 'bigint') {
    if (value >= INT64_END) throw new Refusal('must not have an integer beyond 64 bits', node)
    return { type: 'int', most: value }
  }
  if (typeof value !== 'string') throw new Refusal('must have no literals but strings, integers, true and false', node)
  // The library takes the backslash for the beginning of an escape, and so looks for the end of the string elsewhere.
  const isRaw = input[start] === 'r' || input[start] === 'R'
  if (isRaw && value.includes('\\')) throw new Refusal('must not have a backslash in a raw string', node)
  return STRING
}

function comparisonShape(
  node: Node<'==' | '!=' | '<' | '<=' | '>' | '>=' | 'in'>,
  of: (child: ASTNode) => Shape,
): Shape {
  const [left, right] = node.args
  // In CEL all comparisons have the same precedence; in the library, `==` and `!=` rank below the others.
  if (COMPARISONS.includes(right.op)) throw new Refusal('must not have a comparison on the right of another', right)
  const { type } = of(left)
  of(right)
  // Strings are ordered by characters in CEL, and by UTF-16 units in the library.
  if (/[<>]/.test(node.op) && type !== 'int') throw new Refusal(`must use ${node.op} on integers only`, node)
  return BOOL
}

function arithmeticShape(node: Node<'+' | '-' | '*'>, of: (child: ASTNode) => Shape): Shape {
  const [one, other] = [of(node.args[0]), of(node.args[1])]
  if (node.op === '+' && one.type === 'string' && other.type === 'string') return STRING
  if (one.type !== 'int' || other.type !== 'int') throw new Refusal(`must use ${node.op} on integers only`, node)
  const most = node.op === '*' ? one.most * other.most : one.most + other.most
  if (most >= INT64_END) throw new Refusal('must not calculate beyond 64 bits', node)
  return { type: 'int', most }
}

function macroShape(node: Node<'rcall'>, { variables, isBody }: Place, uses: Uses): Shape {
  const [name, receiver, [variable, ...body]] = node.args
  if (isBody) throw new Refusal(`must not use ${name}() within another macro`, node)
  if (hasMap(receiver)) throw new Refusal(`must not use ${name}() on what map() has made`, node)
  if (variable?.op !== 'id' || VARIABLES.has(variable.args)) {
    throw new Refusal(`must not name the variable of ${name}() after a claim`, node)
  }
  const list = shapeOf(receiver, { variables, isBody }, uses)
  if (list.type !== 'list' || list.element === undefined) {
    throw new Refusal(`must not use ${name}() on an empty list`, node)
  }
  const place = { variables: new Map([...variables, [variable.args, list.element]]), isBody: true }
  const results = body.map((child) => shapeOf(child, place, uses))
  if (name === 'filter') return list
  return name === 'map' ? { type: 'list', element: results.at(-1) } : BOOL
}

/** Whether a list may come from `map()`, whose elements may be larger than those that they were made from. */
function hasMap(node: ASTNode): boolean {
  if (node.op === 'rcall') return node.args[0] === 'map' || hasMap(node.args[1])
  return (node.op === 'list' || node.op === '?:' || node.op === '[]') && node.args.some(hasMap)
}

/** Either of two shapes; undefined if they have different types. */
function joined(one: Shape, other: Shape): Shape | undefined {
  if (one.type === 'int' && other.type === 'int') return one.most > other.most ? one : other
  if (one.type !== 'list' || other.type !== 'list') return one.type === other.type ? one : undefined
  if (one.element === undefined || other.element === undefined) return one.element === undefined ? other : one
  const element = joined(one.element, other.element)
  return element && { type: 'list', element }
}
