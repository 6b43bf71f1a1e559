import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ListPoliciesRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { decodePageToken, encodePageToken, pageSizeParser } from '#shared/rpc/pages.ts'

interface Anchor {
  readonly id: string
}

const isAnchor = (payload: unknown): payload is Anchor =>
  typeof payload === 'object' && payload !== null && 'id' in payload && typeof payload.id === 'string'

const refused = (scope: string, token: string): void =>
  assert.throws(
    () => decodePageToken(scope, token, isAnchor),
    (error) => error instanceof Rejection && error.reason === 'INVALID_CURSOR',
  )

test('a token gives back what it was made from', () => {
  const token = encodePageToken('wrk_1:sessions', { id: 'ses_é' })
  assert.match(token, /^[A-Za-z0-9_-]+$/)
  assert.deepEqual(decodePageToken('wrk_1:sessions', token, isAnchor), { id: 'ses_é' })
})

test('refuses a token made for another scope', () => {
  refused('wrk_2:sessions', encodePageToken('wrk_1:sessions', { id: 'ses_1' }))
})

test('refuses a token in which any one character was changed, added or left out', () => {
  const token = encodePageToken('scope', { id: 'ses_1' })
  for (let at = 0; at < token.length; at++) {
    refused('scope', `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`)
    refused('scope', token.slice(0, at) + token.slice(at + 1))
  }
  for (const extra of ['A', '=', ' ', '\n']) refused('scope', token + extra)
})

test('refuses what never was a token, and a genuine one whose payload has another shape', () => {
  for (const text of ['', 'AA', '!!!', 'x'.repeat(5_000), '{"id":"ses_1"}']) refused('scope', text)
  for (const payload of [null, 1, [], { id: { $gt: '' } }]) refused('scope', encodePageToken('scope', payload))
})

test('an id that fits into a URL comes back from its token, which fits into one, too', () => {
  const alphabets = ['統', '😀', '\u0001', '"', '\\', 'ü', 'a'].map((first) => first.codePointAt(0) as number)
  let seed = 1
  const random = (most: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % most
  }
  for (const first of alphabets) {
    let id = ''
    const spread = first < 0x80 ? 31 : 5_000
    while (encodeURIComponent(id).length < 15_000 && id.length < 5 * 1_024)
      id += String.fromCodePoint(first + random(spread))
    const token = encodePageToken('scope', { id })
    assert.ok(token.length <= 12_288, `${token.length}`)
    assert.deepEqual(decodePageToken('scope', token, isAnchor), { id })
  }
})

test('refuses a token that unpacks to far more than any filters have', () => {
  const bomb = encodePageToken('scope', { id: ' '.repeat(1_000_000) })
  assert.ok(bomb.length < 12_288)
  refused('scope', bomb)
})

test('a page has the default size, at most the maximum, and never none or a negative one', () => {
  const parse = pageSizeParser(ListPoliciesRequestSchema)
  assert.deepEqual(
    [undefined, 1, 99, 100, 2 ** 31 - 1].map((size) => parse(size)),
    [50, 1, 99, 100, 100],
  )
  for (const size of [0, -1]) {
    assert.throws(() => parse(size), {
      reason: 'REQUEST_INVALID',
      metadata: { field: 'page_size', problem: 'must be at least 1' },
    })
  }
})
