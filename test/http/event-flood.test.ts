import assert from 'node:assert/strict'
import test from 'node:test'
import { openStream } from '#test/support/event-stream.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { waitFor } from '#test/support/wait-until.ts'

const WORDS = 20_000
const SESSIONS = ['ses_a', 'ses_b', 'ses_c']

interface Event {
  readonly type: string
  readonly data: { readonly sessionID?: string; readonly delta?: string; readonly text?: string }
}

async function ask(portico: Portico): Promise<void> {
  for (const id of SESSIONS) {
    assert.equal((await portico.post('/api/session', { id })).status, 200)
    assert.equal((await portico.post(`/api/session/${id}/prompt`, { text: `/length ${WORDS}` })).status, 200)
  }
}

test('a reader that reads as fast as it can gets every word of long answers, and is not cut off', async () => {
  await using portico = await openPortico()
  const stream = await openStream(`${portico.url}/api/event`)
  stream.setEncoding('utf8')
  const sent = new Map<string, string>()
  const whole = new Map<string, string>()
  let asked: Promise<void> | undefined
  let rest = ''
  let ended = 0
  for await (const chunk of stream) {
    const frames = `${rest}${chunk}`.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const line = frame.split('\n').find((one) => one.startsWith('data: '))
      if (line === undefined) continue
      const { type, data } = JSON.parse(line.slice(6)) as Event
      assert.notEqual(type, 'server.error', line)
      const session = data.sessionID ?? ''
      if (type === 'server.connected') asked = ask(portico)
      if (type === 'session.text.delta') sent.set(session, (sent.get(session) ?? '') + data.delta)
      if (type === 'session.text.ended') whole.set(session, data.text ?? '')
      if (type === 'session.execution.succeeded') ended++
    }
    if (ended === SESSIONS.length) break
  }
  await asked
  for (const id of SESSIONS) {
    assert.equal(whole.get(id)?.split(' ').length, WORDS)
    assert.equal(sent.get(id), whole.get(id), id)
  }
  // The loop left the stream halfway.
  await waitFor('no stream', () => portico.listener.lifecycle.openStreams === 0)
})
