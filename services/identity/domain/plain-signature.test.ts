import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { derSignature, plainSignature } from './plain-signature.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

test('a signature is converted as node:crypto converts it, whatever zeros its numbers begin with', () => {
  const lengths = new Set<number>()
  for (let i = 0; i < 2_000; i++) {
    const signed = Buffer.from(`${i}`)
    const der = sign('sha256', signed, privateKey)
    lengths.add(der.length)
    const plain = plainSignature(der)
    assert.equal(plain.length, 64)
    assert.ok(verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, plain))
    assert.deepEqual(derSignature(plain), der)
  }
  assert.ok(lengths.size >= 3, 'numbers of several lengths')
})

test('numbers that begin with zeros, or consist of zeros, are written in the single form of DER', () => {
  const plain = Buffer.alloc(64)
  assert.deepEqual(derSignature(plain), Buffer.from('3006020100020100', 'hex'))
  plain[31] = 0x80
  plain[62] = 0x7f
  const der = Buffer.from('3008020200800202' + '7f00', 'hex')
  assert.deepEqual(derSignature(plain), der)
  assert.deepEqual(plainSignature(der), plain)
})

test('what is not 64 bytes long is no signature', () => {
  const der = sign('sha256', Buffer.from('a'), privateKey)
  for (const other of [Buffer.alloc(0), Buffer.alloc(63), Buffer.alloc(65), der]) {
    assert.equal(derSignature(other), undefined)
  }
})
