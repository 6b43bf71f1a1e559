import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { schemaProblem } from './schema-problem.ts'

const number = z.number()
const [union, kinds] = [z.union([z.string(), z.number()]), z.object({ type: z.literal('a') })]

/** A schema, a value that does not match it, and the message about the value. */
const PROBLEMS: readonly (readonly [z.ZodType, unknown, string])[] = [
  [z.string(), undefined, 'is required'],
  [z.enum(['a', 'b']), undefined, 'is required'],
  [union, undefined, 'is required'],
  [z.string(), 7, 'must be a string'],
  [z.string(), null, 'must be a string'],
  [z.boolean(), 'yes', 'must be a boolean'],
  [z.array(number), {}, 'must be an array'],
  [z.object({}), [], 'must be an object'],
  [z.record(z.string(), number), 7, 'must be an object'],
  [number, '7', 'must be a number'],
  [z.int(), 0.5, 'must be an integer'],
  [z.never(), 7, 'must be omitted'],
  [z.null(), 7, 'must be null'],
  [z.literal(false), true, 'must be false'],
  [z.literal('a'), 'b', 'must be "a"'],
  [z.enum(['a', 'b', 'c']), 'd', 'must be "a", "b" or "c"'],
  [number.max(2), 3, 'must be at most 2'],
  [number.lt(2), 2, 'must be less than 2'],
  [number.min(0), -1, 'must be at least 0'],
  [number.min(1), 0, 'must be at least 1'],
  [number.gt(0), 0, 'must be more than 0'],
  [number.multipleOf(5), 7, 'must be a multiple of 5'],
  [z.string().max(2), 'abc', 'must have at most 2 characters'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(2), 'a', 'must have at least 2 characters'],
  [z.string().length(2), 'a', 'must have exactly 2 characters'],
  [z.array(number).min(1), [], 'must not be empty'],
  [z.array(number).max(1), [1, 2], 'must have at most 1 items'],
  [z.string().regex(/^a+$/), 'b', 'must match /^a+$/'],
  [z.base64(), '%', 'must be a valid base64 text'],
  [z.strictObject({}), { a: 1 }, 'has the unknown member "a"'],
  [z.strictObject({}), { a: 1, b: 2 }, 'has the unknown members "a", "b"'],
  [z.record(z.string().regex(/^a/), number), { b: 1 }, 'has an invalid member name'],
  [union, true, 'must be a string or a number'],
  [z.union([z.string(), z.array(number)]), ['x'], 'has none of the allowed forms'],
  [z.discriminatedUnion('type', [kinds]), { type: 'b' }, 'must be "a"'],
  [z.string().refine(() => false), 'a', 'is not valid'],
  [z.string('of its own'), 7, 'of its own'],
]

test('a problem of a value is described for people, and a schema’s own message takes precedence', () => {
  for (const [schema, value, problem] of PROBLEMS) {
    const { error } = schema.safeParse(value, { error: schemaProblem })
    assert.equal(error?.issues[0]?.message, problem)
  }
})
