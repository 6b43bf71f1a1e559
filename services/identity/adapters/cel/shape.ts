/** The result of an expression: its type and its maximum size. Lengths are UTF-16 units, counts are elements. */
export type Shape =
  | { readonly type: 'bool' }
  /** `most`: the maximum absolute value. */
  | { readonly type: 'int'; readonly most: bigint }
  | { readonly type: 'string'; readonly length: number }
  /**
   * From `least` to `count` elements, of which `full` may be as large as `element` while the others are empty.
   * `element` undefined: the empty list, whose type is open.
   */
  | {
      readonly type: 'list'
      readonly least: number
      readonly count: number
      readonly full: number
      readonly element: Shape | undefined
    }

export const BOOL: Shape = { type: 'bool' }

/** Maximum length of a payload in UTF-16 units: three quarters of the 16,384 characters of a token. */
const PAYLOAD = 12_288
/** 512 characters, each of which may be two units. */
const LONGEST: Shape = { type: 'string', length: 1024 }
const FULL = PAYLOAD / 1024

export const METHODS: readonly string[] = ['startsWith', 'endsWith', 'contains', 'size']
export const MACROS: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map']

/** The variables of a condition, at the maximum size that a token allows. */
export const VARIABLES: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['subject', LONGEST],
  ['audience', { type: 'list', least: 1, count: 64, full: FULL, element: LONGEST }],
  ['scopes', { type: 'list', least: 0, count: 16, full: FULL, element: LONGEST }],
  ['token_type', { type: 'string', length: PAYLOAD }],
])

/** The other elements of a list whose full elements have this shape. */
export function emptied(shape: Shape): Shape {
  if (shape.type === 'string') return { type: 'string', length: 0 }
  return shape.type === 'list' ? { ...shape, count: 0, full: 0 } : shape
}

/** Either of two shapes; undefined if they have different types. */
export function joined(one: Shape, other: Shape): Shape | undefined {
  if (one.type === 'bool' && other.type === 'bool') return BOOL
  if (one.type === 'int' && other.type === 'int') return one.most > other.most ? one : other
  if (one.type === 'string' && other.type === 'string') {
    return { type: 'string', length: Math.max(one.length, other.length) }
  }
  if (one.type !== 'list' || other.type !== 'list') return undefined
  const element = one.element && other.element && joined(one.element, other.element)
  if (element === undefined && one.element !== undefined && other.element !== undefined) return undefined
  return {
    type: 'list',
    least: Math.min(one.least, other.least),
    count: Math.max(one.count, other.count),
    full: Math.max(one.full, other.full),
    element: element ?? one.element ?? other.element,
  }
}

/** How much there is to compare: characters, and elements at all depths. */
export function weightOf(shape: Shape): number {
  if (shape.type === 'string') return 1 + shape.length
  if (shape.type !== 'list' || shape.element === undefined) return 1
  return 1 + shape.full * weightOf(shape.element) + (shape.count - shape.full) * weightOf(emptied(shape.element))
}
