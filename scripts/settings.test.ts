import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingNames } from './settings.ts'

test('the names of settings are those of the schemas: else run npm run generate', () => {
  const { wanted, present } = settingNames()
  assert.equal(present, wanted)
})
