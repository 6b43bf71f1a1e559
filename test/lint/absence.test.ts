import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const FILES = globSync('proto/portico/**/*.proto')

/** Fields of which an empty value, or 0, means something, each with its reason. */
const ALLOWED: ReadonlySet<string> = new Set([
  // AIP-158: an empty token is the first page, or that there are no more; a size of 0 is the default one.
  'page_token',
  'next_page_token',
  'previous_page_token',
  'page_size',
  // Empty is a path: that of the project's own directory.
  'subpath',
  // As in a principal: the local operator has a key without an id.
  'creator_key_id',
])

const FIELD = /((?:^ *\/\/.*\n)*)^ *(optional |repeated )?(?:string|bytes|double|u?int(?:32|64)) (\w+) = \d+;/gm
/** A word about an empty value, about 0 as one that is none, or about when a field is there at all. */
const ABSENCE = /\b(?:empty|absent|only with)\b|\b0(?::| (?:when|for|until|while|means)) /i

/** Names of the fields of a proto file whose comment gives an empty value, or 0, the meaning of absence. */
function absentByValue(text: string): string[] {
  return [...text.matchAll(FIELD)].flatMap(([, comment = '', label, name = '']) => {
    const words = comment.replaceAll(/\s*\/\/\s*/g, ' ')
    return label === undefined && ABSENCE.test(words) ? [name] : []
  })
}

test('what may be absent is optional: no empty text and no 0 stands for it', () => {
  assert.ok(FILES.length > 0)
  for (const file of FILES) {
    const found = absentByValue(readFileSync(file, 'utf8')).filter((name) => !ALLOWED.has(name))
    assert.deepEqual(found, [], file)
  }
})

test('a comment that gives an empty value the meaning of absence is found', () => {
  const field = (comment: string, type = 'string'): string => `message A {\n  // ${comment}\n  ${type} a = 1;\n}\n`
  for (const comment of [
    'Empty: none was given.',
    'Name; empty: unknown.',
    'Empty: it has none.',
    'Empty: no limit.',
    'Empty: every session.',
    'Why it ended; empty while running.',
    'Only with STATUS_FAILED.',
    'Absent: there is none.',
  ]) {
    assert.deepEqual(absentByValue(field(comment)), ['a'], comment)
  }
  for (const comment of ['Most; 0: unknown.', 'Number; 0 for volatile ones.', '0 when the price is unknown.']) {
    assert.deepEqual(absentByValue(field(comment, 'int64')), ['a'], comment)
  }
  assert.deepEqual(absentByValue(field('Empty: none.', 'optional string')), [])
  assert.deepEqual(absentByValue(field('Position, from 0.', 'int32')), [])
})
