import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base64url, newTokenKey, signText, signToken } from '#test/support/subject-tokens.ts'
import { readSubjectToken } from './read-subject-token.ts'

const key = newTokenKey('ES256', 'k1')
const good = signToken({ iss: 'https://issuer.test', sub: 'a' }, key)
const [header = '', payload = '', signature = ''] = good.split('.')
const problemOf = (compact: string): string | undefined => {
  const read = readSubjectToken(compact)
  return 'problem' in read ? read.problem : undefined
}

test('reads the header and the claims of a token', () => {
  assert.deepEqual(readSubjectToken(good), {
    token: {
      compact: good,
      header: { alg: 'ES256', kid: 'k1', typ: 'JWT' },
      claims: { iss: 'https://issuer.test', sub: 'a' },
    },
  })
})

test('two, four and five parts, an empty text, padding, the standard alphabet, spaces and line ends are refused', () => {
  for (const compact of [
    ...['', '.', '..', '...', 'a', header, `${header}.${payload}`, `${good}.`, `${good}.a`, `${good}.a.b`],
    ...[`.${payload}.${signature}`, `${header}..${signature}`],
    ...[` ${good}`, `${good} `, `${good}\n`, `${good}\r\n`, `\t${good}`, `${header} .${payload}.${signature}`],
    ...[`${good}=`, `${good}==`, `${header}=.${payload}.${signature}`, `${header}.${payload}%3d.${signature}`],
    ...[`${header}.${payload}.${Buffer.alloc(64, 0xff).toString('base64')}`, `${good}\u0000`, `${good}é`],
  ]) {
    assert.match(problemOf(compact) ?? '', /^is not three parts of base64url$/, JSON.stringify(compact))
  }
})

test('a last character with stray bits is refused, so that one token has one text', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(good.at(-1) ?? '')
  const others = [...alphabet].filter((_, index) => index !== last && index >> 4 === last >> 4)
  assert.equal(others.length, 15)
  for (const other of others) {
    const compact = `${good.slice(0, -1)}${other}`
    assert.deepEqual(
      [...Buffer.from(compact.split('.')[2] ?? '', 'base64url')],
      [...Buffer.from(signature, 'base64url')],
      'Node decodes it all the same',
    )
    assert.match(problemOf(compact) ?? '', /^is not three parts of base64url$/)
  }
})

test('a member that is there twice, also spelled by an escape, is refused in header and payload', () => {
  assert.match(
    problemOf(signText('{"alg":"none","alg":"ES256"}', '{}', key)) ?? '',
    /^has a header that has a member twice$/,
  )
  assert.match(
    problemOf(signText('{"alg":"ES256"}', '{"sub":"a","\\u0073ub":"b"}', key)) ?? '',
    /^has a payload that has/,
  )
})

test('a byte order mark, invalid UTF-8, half of a surrogate pair and more than 32 levels are refused', () => {
  for (const text of [
    '\ufeff{}',
    Uint8Array.of(0x7b, 0xff, 0x7d),
    '{"sub":"\\ud800"}',
    `{"a":${'['.repeat(32)}${']'.repeat(32)}}`,
  ]) {
    assert.match(problemOf(signText('{"alg":"ES256"}', text, key)) ?? '', /^has a payload that /)
    assert.match(problemOf(signText(text, '{}', key)) ?? '', /^has a header that /)
  }
})

test('a payload that is a list or no JSON is refused, and a member __proto__ supplies no claims', () => {
  for (const text of ['[]', '[{"sub":"a"}]', 'null', '"a"', 'sub=a', '']) {
    const compact = `${header}.${base64url(text)}.${signature}`
    assert.match(problemOf(compact) ?? '', /^(has a payload that is not a JSON object|is not three parts)/, text)
  }
  const read = readSubjectToken(signText('{"alg":"ES256"}', '{"__proto__":{"sub":"a"}}', key))
  assert.ok('token' in read)
  assert.equal(read.token.claims.sub, undefined)
})

test('16 KB of hostile text are read; only what is JSON is accepted', () => {
  for (const [text, isJson] of [
    ['{"a":'.repeat(3000), false],
    ['['.repeat(12_000), false],
    [`{"${'\\u0061'.repeat(2000)}":1}`, true],
    ['"'.repeat(12_000), false],
  ] as const) {
    assert.equal(problemOf(`${header}.${base64url(text)}.${signature}`) === undefined, isJson)
  }
})
