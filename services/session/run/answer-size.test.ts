import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { openSessionService } from '#test/support/session-service.ts'
import { calls, extended, finished, started, type Turn } from '#test/support/session-turns.ts'

const MIB = 1_048_576

/** Says so many texts of so many bytes, 100 at once; long ones come piece by piece. */
function saying(parts: number, bytes: number): Turn {
  return async function* () {
    const text = 'x'.repeat(bytes)
    const events = Array.from({ length: parts }, (_, index) => [
      started(index, Kind.TEXT),
      ...(bytes > 1 ? [extended(index, text)] : []),
      { event: { case: 'partEnded', value: { index, part: { part: { case: 'text', value: { text } } } } } } as const,
    ])
    for (let at = 0; at < parts; at += 100) yield events.slice(at, at + 100).flat()
    yield [finished(FinishReason.STOP)]
  }
}

test('an answer with more parts or bytes than an import takes fails the run, and the next prompt starts afresh', async () => {
  await using service = await openSessionService()
  for (const [parts, bytes, problem] of [
    [2_001, 1, 'more than 2000 parts'],
    [6, MIB, 'more than 5242880 bytes'],
  ] as const) {
    const sessionId = `ses_${parts}`
    await service.create(sessionId)
    service.peers.turns.push(saying(parts, bytes))
    await service.prompt('Say much', { sessionId })
    await service.wait(sessionId)
    const [failed] = await service.steps(sessionId)
    const message = `The provider's answer has ${problem}`
    assert.deepEqual([failed?.error?.type, failed?.error?.message], ['provider.answer_too_large', message])
    assert.ok((failed?.parts.length ?? 0) <= 2_000)
    assert.equal(await service.outcome(sessionId), Outcome.FAILED)
    service.peers.turns.push(saying(parts - 2, bytes))
    await service.prompt('Say less', { sessionId })
    await service.wait(sessionId)
    assert.equal(await service.outcome(sessionId), Outcome.SUCCEEDED)
  }
})

test('results that a step has no room for are left out of it', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.tools.look = async function* () {
    yield { event: { case: 'completed', value: { content: [{ content: { case: 'text', value: 'x'.repeat(MIB) } }] } } }
  }
  service.peers.turns.push(calls(...Array.from({ length: 12 }, (_, index) => ({ id: `call_${index}`, name: 'look' }))))
  await service.prompt('Look at everything')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  const sizes = (await service.calls()).map(({ content }) => String(content[0]?.content.value).length)
  assert.deepEqual(
    sizes.map((size) => size === MIB),
    [...Array(5).fill(true), ...Array(7).fill(false)],
  )
})
