import assert from 'node:assert/strict'
import test from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { openFacade, withSession } from '#test/support/facade.ts'
import { openSessionService } from '#test/support/session-service.ts'
import { extended, finished, started, type Turn } from '#test/support/session-turns.ts'
import { connectLocal } from '#test/support/transports.ts'

const WORDS = Array.from({ length: 20_000 }, (_, i) => `${i} `)

/** A model whose whole answer arrives at once. */
const atOnce: Turn = async function* () {
  const part = { part: { case: 'text', value: { text: WORDS.join('') } } } as const
  const deltas = WORDS.map((word) => extended(0, word))
  const ended = { event: { case: 'partEnded', value: { index: 0, part } } } as const
  yield [started(0, Kind.TEXT), ...deltas, ended, finished(FinishReason.STOP)]
}

test('a reader of events is not cut off by an answer whose 20,000 words come at once, and gets them all', async () => {
  await using service = await openSessionService()
  await using session = await connectLocal(service.routes)
  await using facade = await openFacade({}, {}, withSession(session.transport))
  service.peers.turns.push(atOnce)
  await service.create()
  const stream = await openStream(`${facade.url}/api/event`)
  await readUntil(stream, (text) => text.includes('server.connected'))
  await service.prompt('Go')
  const text = await readUntil(stream, (text) => /"session\.execution\.succeeded"|"server\.error"/.test(text))
  const events = text.split('\n').filter((line) => line.startsWith('data: '))
  const deltas = events.map((line) => JSON.parse(line.slice(6))).filter(({ type }) => type === 'session.text.delta')
  assert.equal(deltas.map(({ data }) => data.delta).join(''), WORDS.join(''))
  assert.doesNotMatch(text, /"server\.error"/)
  stream.destroy()
})
