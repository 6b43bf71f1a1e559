import type { ASTNode } from 'cel-js'
import {
  contained,
  equal,
  indexed,
  iterated,
  listed,
  logical,
  type Measured,
  made,
  NODE_COST,
  searched,
  sized,
} from './cost.ts'
import { BOOL, joined, MACROS, METHODS, type Shape, VARIABLES } from './shape.ts'

/** Maximum cost of one evaluation, as measured by `cost.ts`: far below 5 ms. */
const BUDGET = 2_000_000
const INT64_END = 2n ** 63n

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

/**
 * Walks an expression that has passed the type checker. Throws a {@link Refusal} at anything that is not in the list
 * below, has different results in different implementations of CEL, or may cost too much for the largest claims.
 * Returns the variables that it uses.
 */
export function measure(node: ASTNode): ReadonlySet<string> {
  const used = new Set<string>()
  measureAt(node, { variables: VARIABLES, isBody: false }, used)
  return used
}

function measureAt(node: ASTNode, place: Place, used: Set<string>): Measured {
  const { shape, cost, fails } = measureNode(node, place, used)
  if (cost + NODE_COST > BUDGET) throw new Refusal('could take too long on large claims', node)
  return { shape, cost: cost + NODE_COST, fails }
}

function measureNode(node: ASTNode, place: Place, used: Set<string>): Measured {
  const of = (child: ASTNode): Measured => measureAt(child, place, used)
  switch (node.op) {
    case 'value':
      return made(literalShape(node), [])
    case 'id':
      if (VARIABLES.has(node.args)) used.add(node.args)
      return made(variableShape(node, place), [])
    case 'list':
      return listed(node.args.map(of)) ?? refuse('must not mix types in a list', node)
    case '!_':
      return made(BOOL, [of(node.args)])
    case '&&':
    case '||':
      return logical(node.args.map(of))
    case '?:': {
      const [condition, one, other] = node.args
      // CEL requires parentheses here, which are no longer visible.
      if (one.op === '?:') throw new Refusal('must not have a choice in the middle of another', one)
      const parts = [of(condition), of(one), of(other)] as const
      const shape = joined(parts[1].shape, parts[2].shape)
      return made(shape ?? refuse('must not choose between types', node), parts)
    }
    case '[]':
      return measureIndex(node, of(node.args[0]), of(node.args[1]))
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case 'in':
      return measureComparison(node, of(node.args[0]), of(node.args[1]))
    case '+':
    case '-':
    case '*':
      return measureArithmetic(node, of(node.args[0]), of(node.args[1]))
    case 'call': {
      const [name, [argument, ...others]] = node.args
      if (name !== 'size' || argument === undefined || others.length > 0)
        throw new Refusal(`must not use ${name}()`, node)
      return sized(of(argument))
    }
    case 'rcall': {
      const [name, receiver, [argument]] = node.args
      if (MACROS.includes(name)) return measureMacro(node, place, used)
      if (!METHODS.includes(name)) throw new Refusal(`must not use ${name}()`, { start: receiver.end })
      return argument === undefined ? sized(of(receiver)) : searched(name, of(receiver), of(argument))
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
  return { type: 'string', length: value.length }
}

function variableShape(node: Node<'id'>, { variables }: Place): Shape {
  const shape = variables.get(node.args)
  if (shape === undefined) throw new Refusal(`must not use ${node.args}`, node)
  return shape
}

function measureIndex(node: Node<'[]'>, list: Measured, index: Measured): Measured {
  if (list.shape.type !== 'list' || list.shape.element === undefined || index.shape.type !== 'int') {
    throw new Refusal('must use an integer as the index of a list', node)
  }
  const isThere = node.args[1].op === 'value' && index.shape.most < list.shape.least
  return indexed(list.shape.element, isThere, [list, index])
}

function measureComparison(
  node: Node<'==' | '!=' | '<' | '<=' | '>' | '>=' | 'in'>,
  left: Measured,
  right: Measured,
): Measured {
  const [, other] = node.args
  // In CEL all comparisons have the same precedence; in the library, `==` and `!=` rank below the others.
  if (COMPARISONS.includes(other.op)) throw new Refusal('must not have a comparison on the right of another', other)
  if (node.op === 'in') return contained(left, right)
  if (node.op === '==' || node.op === '!=') return equal(left, right)
  // Strings are ordered by characters in CEL, and by UTF-16 units in the library.
  if (left.shape.type !== 'int') throw new Refusal(`must use ${node.op} on integers only`, node)
  return made(BOOL, [left, right])
}

function measureArithmetic(node: Node<'+' | '-' | '*'>, left: Measured, right: Measured): Measured {
  const [one, other] = [left.shape, right.shape]
  if (node.op === '+' && one.type === 'string' && other.type === 'string') {
    return made({ type: 'string', length: one.length + other.length }, [left, right])
  }
  if (one.type !== 'int' || other.type !== 'int') throw new Refusal(`must use ${node.op} on integers only`, node)
  const most = node.op === '*' ? one.most * other.most : one.most + other.most
  if (most >= INT64_END) throw new Refusal('must not calculate beyond 64 bits', node)
  return made({ type: 'int', most }, [left, right])
}

function measureMacro(node: Node<'rcall'>, { variables, isBody }: Place, used: Set<string>): Measured {
  const [name, receiver, [variable, ...body]] = node.args
  if (isBody) throw new Refusal(`must not use ${name}() within another macro`, node)
  if (hasMap(receiver)) throw new Refusal(`must not use ${name}() on what map() has made`, node)
  if (variable?.op !== 'id' || VARIABLES.has(variable.args)) {
    throw new Refusal(`must not name the variable of ${name}() after a claim`, node)
  }
  const list = measureAt(receiver, { variables, isBody }, used)
  const { shape } = list
  if (shape.type !== 'list' || shape.element === undefined)
    throw new Refusal(`must not use ${name}() on an empty list`, node)
  return iterated(name, list, { ...shape, element: shape.element }, (element) => {
    const place = { variables: new Map([...variables, [variable.args, element]]), isBody: true }
    return body.map((child) => measureAt(child, place, used))
  })
}

/** Whether a list may come from `map()`, whose elements may be larger than those that they were made from. */
function hasMap(node: ASTNode): boolean {
  if (node.op === 'rcall') return node.args[0] === 'map' || hasMap(node.args[1])
  return (node.op === 'list' || node.op === '?:' || node.op === '[]') && node.args.some(hasMap)
}
