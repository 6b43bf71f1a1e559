import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detectMime, isText } from './mime.ts'

test('content determines its type, whatever its name', () => {
  const cases: readonly (readonly [hexOrText: string, mime: string])[] = [
    ['89504e470d0a1a0a', 'image/png'],
    ['ffd8ffe0', 'image/jpeg'],
    ['474946383961', 'image/gif'],
    ['524946460000000057454250', 'image/webp'],
    ['255044462d', 'application/pdf'],
    ['504b0304', 'application/zip'],
    ['0001', 'application/octet-stream'],
    ['c3', 'application/octet-stream'],
    ['', 'text/plain'],
    [Buffer.from('BMW and ID cards').toString('hex'), 'text/plain'],
    [Buffer.from('häß').toString('hex'), 'text/plain'],
  ]
  for (const [hex, mime] of cases) assert.equal(detectMime(Buffer.from(hex, 'hex')), mime, hex)
})

test('a character cut off at the end may still be text, if more may follow', () => {
  const cut = Buffer.from('ä').subarray(0, 1)
  assert.equal(isText(cut), false)
  assert.equal(isText(cut, true), true)
})
