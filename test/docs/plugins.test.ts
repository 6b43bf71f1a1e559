import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

test('the plugin that the document shows is the example that the tests run', () => {
  const [, shown] = /^```js\n([\s\S]*?)^```$/m.exec(readFileSync('docs/plugins.md', 'utf8')) ?? []
  assert.equal(shown, readFileSync('examples/plugins/greeter.mjs', 'utf8'))
})
