import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { isEncryptionKey } from '#services/identity/domain/signing-key.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { encryptionKeyPath, folderEncryptionKey } from './encryption-key.ts'

const problemOf = (directory: string, isUsed: boolean): string => {
  try {
    return `no problem: ${folderEncryptionKey(directory, isUsed)}`
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message
  }
}

test('the first start makes a key that only its owner reads; each later one finds it', () => {
  using folder = scratchDirectory()
  const key = folderEncryptionKey(folder.path, false)
  assert.ok(isEncryptionKey(key))
  assert.deepEqual(readdirSync(folder.path), ['encryption.key'])
  assert.equal(statSync(encryptionKeyPath(folder.path)).mode & 0o777, 0o600)
  for (const isUsed of [true, false]) assert.equal(folderEncryptionKey(folder.path, isUsed), key)
})

test('two folders have two keys', () => {
  using one = scratchDirectory()
  using two = scratchDirectory()
  assert.notEqual(folderEncryptionKey(one.path, false), folderEncryptionKey(two.path, false))
})

test('a missing key is not replaced when something was encrypted with it', () => {
  using folder = scratchDirectory()
  const path = encryptionKeyPath(folder.path)
  const missing = `${path} is missing, which the signing keys in the store are encrypted with: restore it`
  assert.equal(problemOf(folder.path, true), missing)
  assert.deepEqual(readdirSync(folder.path), [])
})

test('a file that is not a key is left unchanged', () => {
  using folder = scratchDirectory()
  const path = encryptionKeyPath(folder.path)
  for (const text of ['', 'secret\n', 'a\nb\n']) {
    writeFileSync(path, text)
    const problem = problemOf(folder.path, false)
    assert.match(
      problem,
      /encryption\.key (holds no encryption key: restore it|must contain exactly one line of text)$/,
    )
    assert.ok(!problem.includes('secret'))
    assert.equal(readFileSync(path, 'utf8'), text)
    rmSync(path)
  }
})
