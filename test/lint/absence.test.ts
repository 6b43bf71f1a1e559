import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** The requests of the session service still are as they were. */
const FILES = globSync('proto/portico/**/*.proto', { exclude: ['**/session/v1/session_service.proto'] })

/** Fields whose empty value may mean that there is nothing, each with its reason. */
const ALLOWED: ReadonlySet<string> = new Set([
  // AIP-158: an empty token is the first page, or that there are no more.
  'page_token',
  'next_page_token',
  // Beside a directory that is empty for the default one.
  'base_directory',
])

const FIELD = /((?:^ *\/\/.*\n)*)^ *(optional |repeated )?(?:string|bytes|double|u?int(?:32|64)) (\w+) = \d+;/gm
const ABSENCE =
  /\b(?:empty|0)(?:: | when | until | while )(?:there |it |the |nothing |was |is )*(?:none|no|absent|unknown|hidden|has none|known|given)\b/i

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
  ]) {
    assert.deepEqual(absentByValue(field(comment)), ['a'], comment)
  }
  assert.deepEqual(absentByValue(field('Most; 0: unknown.', 'int64')), ['a'])
  assert.deepEqual(absentByValue(field('Empty: none.', 'optional string')), [])
  assert.deepEqual(absentByValue(field('0 means 50.', 'int32')), [])
})
