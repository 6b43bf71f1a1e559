import assert from 'node:assert/strict'
import test from 'node:test'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'
import { OF_MANAGERS } from '#gateway/credentials.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'

/** A valid value of each path parameter. */
const VALID: Readonly<Record<string, string>> = {
  ...{ sessionID: 'ses_1', messageID: 'msg_1', inboxID: 'msg_1', issuerID: 'iss_1', version: '1' },
  policyID: '6f1d64c3-3a53-4a0e-9a2e-0f6a1c1f6a4e',
}

test('every operation refuses an invalid path parameter with its name and its rule', async () => {
  await using facade = await openFacade()
  for (const { id, method, path, family, credentials } of ALL_OPERATIONS) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    for (const invalid of names) {
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === invalid ? '%01' : (VALID[name] ?? 'x')))
      const key = credentials === OF_MANAGERS ? TEST_KEYS.management : TEST_KEYS.workspace
      const headers: Record<string, string> = family === 'instance' ? {} : { authorization: `Bearer ${key}` }
      const answer = await facade.fetch(target, { method: method.toUpperCase(), headers })
      const { message, error } = (await answer.json()) as { message?: string; error?: { message: string } }
      assert.equal(answer.status, 400, `${id}: ${invalid}`)
      const shown = new RegExp(`^(Invalid request parameters: )?${invalid}: must \\w+ [^/]+$`)
      // OpenCode's own text.
      const expected = invalid === 'sessionID' ? /^Invalid session ID$/ : shown
      assert.match(message ?? error?.message ?? '', expected, `${id}: ${invalid}`)
    }
  }
})

test('the message names the characters that a slug may have', async () => {
  await using facade = await openFacade()
  const headers = { authorization: `Bearer ${TEST_KEYS.management}` }
  const answer = await facade.fetch('/api/v1/presets/Bad%20Slug/responses', { method: 'POST', headers })
  const message = 'Invalid request parameters: slug: must contain only letters, digits and -._~'
  assert.deepEqual([answer.status, await answer.json()], [400, { error: { code: 400, message, param: 'slug' } }])
})
