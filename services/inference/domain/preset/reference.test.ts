import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSlug, namedModel } from './reference.ts'

test('a model names a model, a preset, or both', () => {
  const cases = [
    [undefined, undefined, undefined],
    ['a/b', 'a/b', undefined],
    ['@preset/slug', undefined, 'slug'],
    ['a/b@preset/slug', 'a/b', 'slug'],
    ['a/b:free@preset/my.slug', 'a/b:free', 'my.slug'],
    ['@preset/', undefined, ''],
    ['@preset/a/b', undefined, 'a/b'],
    ['a@preset/b@preset/c', 'a', 'b@preset/c'],
    ['preset/a', 'preset/a', undefined],
  ] as const
  for (const [given, model, slug] of cases) assert.deepEqual(namedModel(given), { model, slug }, given)
})

test('a slug is the same in a path and in a model', () => {
  for (const slug of ['a', 'Support-2', 'a.b_c~d', '...', 'x'.repeat(256)]) assert.ok(isSlug(slug), slug)
  for (const slug of ['', '.', '..', 'a/b', 'a b', 'ä', 'a%20', 'a@b', 'a:b', 'a\n', 'x'.repeat(257)]) {
    assert.ok(!isSlug(slug), slug)
  }
})
