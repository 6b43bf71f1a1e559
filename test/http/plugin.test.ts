import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPortico } from '#test/support/portico.ts'

const SHOUT = `export default {
  id: 'shout',
  setup({ hook, skill }) {
    skill({ id: 'loud', description: 'How to shout', text: 'Use capitals.' })
    hook('prompt', ({ text, agents, skills, metadata }) => ({
      text: text.toUpperCase(),
      agents: ['explore', ...agents],
      skills: [...skills, text === 'Hello' ? 'loud' : 'missing'],
      metadata: { ...metadata, shouted: true },
    }))
  },
}`

test('plugins are listed, those that are not trusted with a hint; one changes a prompt before it is admitted', async () => {
  const files = { '.opencode/plugins/shout.js': SHOUT }
  const trusted = { PORTICO_TRUSTED_DIRECTORIES: JSON.stringify([realpathSync(tmpdir())]) }
  for (const [settings, isTrusted] of [
    [trusted, true],
    [{}, false],
  ] as const) {
    await using portico = await openPortico(settings, files)
    const path = join(portico.project, '.opencode/plugins/shout.js')
    const answer = await portico.fetch('/api/plugin')
    assert.equal(answer.status, 200)
    const { location, data } = (await answer.json()) as { location: object; data: { state: { error?: string } }[] }
    assert.deepEqual(location, { directory: portico.project })
    const source = { type: 'local', path }
    if (isTrusted) {
      assert.deepEqual(data, [{ id: 'shout', source, features: { server: true }, state: { status: 'active' } }])
    } else {
      assert.match(
        data[0]?.state.error ?? '',
        /is not trusted: add a directory above it to PORTICO_TRUSTED_DIRECTORIES/,
      )
    }
    await portico.post('/api/session', { id: 'ses_a' })
    const mention = { start: 0, end: 5, text: 'Hello' }
    const sent = { text: 'Hello', agents: [{ name: 'build', mention }], metadata: { a: 1 } }
    const body = { id: 'msg_a', ...sent, resume: false }
    for (const _ of ['first', 'again']) {
      const prompted = await portico.post('/api/session/ses_a/prompt', body)
      assert.equal(prompted.status, 200)
      const { payload } = ((await prompted.json()) as { data: { payload: object } }).data
      const wanted = isTrusted
        ? {
            ...{ text: 'HELLO', agents: [{ name: 'explore' }, ...sent.agents] },
            ...{ skills: [{ id: 'loud', name: 'loud', text: 'Use capitals.' }], metadata: { a: 1, shouted: true } },
          }
        : sent
      assert.deepEqual(payload, wanted)
    }
    // The plugin turns this one into a mention of a skill that does not exist.
    const prompted = await portico.post('/api/session/ses_a/prompt', { id: 'msg_b', text: 'Bye', resume: false })
    assert.equal(prompted.status, 200)
    assert.deepEqual(((await prompted.json()) as { data: { payload: object } }).data.payload, { text: 'Bye' })
  }
})
