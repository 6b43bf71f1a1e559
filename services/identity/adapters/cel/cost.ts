import { BOOL, emptied, joined, type Shape, weightOf } from './shape.ts'

/**
 * An expression: its result, its maximum cost (in nanoseconds, roughly and on the high side), and whether it may fail.
 */
export interface Measured {
  readonly shape: Shape
  readonly cost: number
  readonly fails: boolean
}

/** Cost of every expression, besides its parts. */
export const NODE_COST = 150
/** Creating an error, including its position. */
const ERROR_COST = 20_000
/** Catching an error and passing it on. */
const CAUGHT_COST = 3_000
/** Iterating over a code unit to find the characters; comparing one costs 1. */
const WALKED_COST = 40
/** Each position in a string at which a search starts over. */
const SOUGHT_COST = 20

/** An expression that costs no more than its parts. */
export function made(shape: Shape, parts: readonly Measured[], cost = 0): Measured {
  const total = parts.reduce((sum, part) => sum + part.cost, cost)
  return { shape, cost: total, fails: parts.some((part) => part.fails) }
}

/** `&&` and `||`, which continue after an error on one side. */
export function logical(parts: readonly Measured[]): Measured {
  return made(BOOL, parts, parts.some((part) => part.fails) ? CAUGHT_COST : 0)
}

/** A list literal; undefined if its elements have different types. */
export function listed(elements: readonly Measured[]): Measured | undefined {
  const count = elements.length
  const [first, ...others] = elements.map(({ shape }) => shape)
  const element = others.reduce<Shape | undefined>((one, other) => one && joined(one, other), first)
  if (element === undefined && count > 0) return undefined
  return made({ type: 'list', least: count, count, full: count, element }, elements)
}

/** An element of a list by its index. */
export function indexed(element: Shape, isThere: boolean, parts: readonly Measured[]): Measured {
  const measured = made(element, parts, isThere ? 0 : ERROR_COST)
  return isThere ? measured : { ...measured, fails: true }
}

/** `==` and `!=`. */
export function equal(left: Measured, right: Measured): Measured {
  return made(BOOL, [left, right], weightOf(left.shape) + weightOf(right.shape))
}

/** `in`: the value is compared with every element. */
export function contained(sought: Measured, list: Measured): Measured {
  const count = list.shape.type === 'list' ? list.shape.count : 0
  const each = NODE_COST + (sought.shape.type === 'list' ? weightOf(sought.shape) : 0)
  return made(BOOL, [sought, list], weightOf(sought.shape) + weightOf(list.shape) + count * each)
}

/** The size of a string, in characters, or of a list. */
export function sized(measured: Measured): Measured {
  const { shape } = measured
  if (shape.type === 'list') return made({ type: 'int', most: BigInt(shape.count) }, [measured])
  const length = lengthOf(shape)
  return made({ type: 'int', most: BigInt(length) }, [measured], WALKED_COST * length)
}

/** A search in a string. Concatenated strings are flattened for it. */
export function searched(method: string, text: Measured, part: Measured): Measured {
  const length = lengthOf(text.shape)
  const sought = lengthOf(part.shape)
  // In the worst case, the part is compared at each position where it still fits: at most a quarter of the square of
  // the length.
  const compared = method === 'contains' ? length * (SOUGHT_COST + Math.min(sought, Math.ceil(length / 4))) : 0
  return made(BOOL, [text, part], length + sought + compared)
}

/** A macro over a list; `bodyOn` measures its arguments for a given element. */
export function iterated(
  macro: string,
  list: Measured,
  { count, full, least, element }: Extract<Shape, { type: 'list' }> & { readonly element: Shape },
  bodyOn: (element: Shape) => readonly Measured[],
): Measured {
  const onFull = bodyOn(element)
  const onEmpty = bodyOn(emptied(element))
  const parts = [...onFull, ...onEmpty]
  const caught = parts.some((part) => part.fails) ? CAUGHT_COST : 0
  const each = (body: readonly Measured[]): number => made(BOOL, body, NODE_COST + caught).cost
  const cost = list.cost + full * each(onFull) + (count - full) * each(onEmpty)
  const fails = list.fails || caught > 0
  if (macro === 'filter') return { shape: { type: 'list', count, full, least: 0, element }, cost, fails }
  if (macro !== 'map') return { shape: BOOL, cost, fails }
  // After a filter, any number of elements may be left.
  const longest = onFull.at(-1)?.shape
  const all = onFull.length === 1
  return { shape: { type: 'list', count, full: count, least: all ? least : 0, element: longest }, cost, fails }
}

function lengthOf(shape: Shape): number {
  return shape.type === 'string' ? shape.length : 0
}
