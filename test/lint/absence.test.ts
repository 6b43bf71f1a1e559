import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const FILES = globSync('proto/portico/**/*.proto')

const SCALARS = ['string', 'bytes', 'double', 'int32', 'int64', 'uint32', 'uint64']
const FIELD = /((?:^ *\/\/.*\n)*)^ *(optional |repeated )?([\w.]+) (\w+) = \d+\b/gm
/**
 * A phrase about an empty value, about 0 meaning none, about a special value for none, or about when a field is
 * present.
 */
const ABSENCE = /\b(?:empty|absent|unspecified|only with)\b|_UNSPECIFIED\b|\b0(?::| (?:when|for|until|while|means)) /i
/** An enum value that is described as none of the others. */
const DEFAULT_VALUE = /((?:^ *\/\/.*\n)+)^ *([A-Z]\w+) = \d+;/gm

/** Names of the enums of some files, by the fields of that type. */
function enumsOf(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => [...text.matchAll(/^ *enum (\w+)/gm)].map(([, name = '']) => name)))
}

/** Names of the fields and enum values of a proto file whose comment gives a value the meaning of absence. */
function absentByValue(text: string, enums = enumsOf([text])): string[] {
  const fields = [...text.matchAll(FIELD)].flatMap(([, comment = '', label, type = '', name = '']) => {
    const hasZero = SCALARS.includes(type) || enums.has(type.slice(type.lastIndexOf('.') + 1))
    return hasZero && label === undefined && ABSENCE.test(comment.replaceAll(/\s*\/\/\s*/g, ' ')) ? [name] : []
  })
  const values = [...text.matchAll(DEFAULT_VALUE)].flatMap(([, comment = '', name = '']) =>
    /\bdefault\b/i.test(comment) ? [name] : [],
  )
  return [...fields, ...values]
}

test('a member that may be absent is optional: no empty text, 0 or value of an enum stands for absence', () => {
  assert.ok(FILES.length > 0)
  const texts = FILES.map((file) => readFileSync(file, 'utf8'))
  const enums = enumsOf(texts)
  for (const [i, text] of texts.entries()) assert.deepEqual(absentByValue(text, enums), [], FILES[i])
})

test('no code takes the unspecified value of an enum for absence', () => {
  const files = globSync('{services,gateway,scripts}/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
  assert.ok(files.length > 0)
  const found = files.filter((file) => /(?:[=?:] *|\()[\w.]+\.UNSPECIFIED\b/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(found, [])
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
  const withEnum = (comment: string, type: string): string =>
    `${field(comment, type)}enum Kind {\n  KIND_UNSPECIFIED = 0;\n  KIND_B = 1;\n}\n`
  for (const comment of ['KIND_UNSPECIFIED: KIND_B.', 'Unspecified: all.', 'Absent: all.']) {
    for (const type of ['Kind', 'portico.other.v1.Kind']) {
      assert.deepEqual(absentByValue(withEnum(comment, type)), ['a'], comment)
      assert.deepEqual(absentByValue(withEnum(comment, `optional ${type}`)), [], comment)
    }
  }
  assert.deepEqual(absentByValue('enum Kind {\n  // All of it; the default.\n  KIND_B = 1;\n}\n'), ['KIND_B'])
  assert.deepEqual(absentByValue(field('Empty: none.', 'optional string')), [])
  assert.deepEqual(absentByValue(field('Position, from 0.', 'int32')), [])
})
