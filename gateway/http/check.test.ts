import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { firstProblem, STOP_AT_FIRST } from './check.ts'

/** Path and message of the first problem. */
function problem(schema: z.ZodType, value: unknown): [string, string] {
  const { error } = schema.safeParse(value, STOP_AT_FIRST)
  assert.ok(error)
  const { path, message } = firstProblem(error)
  return [path.join('.'), message]
}

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string('expected words') }),
  z.object({ type: z.literal('picture'), url: z.union([z.string(), z.null()], 'expected an address') }),
])
const content = z.union([z.string(), z.array(part).min(1, 'says nothing')], 'expected a string or a list')

test('the problem is that of the variant that fits the value’s type', () => {
  assert.deepEqual(problem(content, [{ type: 'text', text: 1 }]), ['0.text', 'expected words'])
  assert.deepEqual(problem(content, [{ type: 'picture', url: 1 }]), ['0.url', 'expected an address'])
  assert.deepEqual(problem(content, []), ['', 'says nothing'])
  assert.deepEqual(problem(z.object({ content }), { content: ['x'] })[0], 'content.0')
})

test('a value that fits no variant gets the union’s own message', () => {
  assert.deepEqual(problem(content, 7), ['', 'expected a string or a list'])
  assert.deepEqual(problem(z.object({ content: z.union([content, z.null()], 'nothing fits') }), {}), [
    'content',
    'nothing fits',
  ])
  const word = z.union([z.enum(['a', 'b']), z.object({ c: z.string() })], 'expected a or b, or an object')
  assert.deepEqual(problem(word, 'x'), ['', 'expected a or b, or an object'])
  assert.deepEqual(problem(word, { c: 1 }), ['c', 'must be a string'])
})

test('a check ends at the first problem', () => {
  let checked = 0
  const counted = z.string().refine(() => {
    checked += 1
    return true
  })
  const list = z.array(z.union([z.object({ a: counted }), z.number()]))
  assert.deepEqual(
    problem(list, [{ a: 'x' }, { a: 1 }, ...Array.from({ length: 1_000 }, () => ({ a: 'x' }))])[0],
    '1.a',
  )
  assert.equal(checked, 1)
  assert.deepEqual(problem(z.object({ a: z.string(), b: counted }), { a: 1, b: 'x' })[0], 'a')
  assert.equal(checked, 1)
})
