import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { eventsOf, generationRequest, part } from '#test/support/generation.ts'
import { BoundedContext } from './bounded-context.ts'
import { EchoProvider } from './provider.ts'

const provider = new BoundedContext('portico', new EchoProvider('portico'), new Map([['small', 20]]))

const asking = (words: number, more: object = {}) => {
  const text = ['/length 50', ...Array(words - 2).fill('word')].join(' ')
  return { modelId: 'small', messages: [{ role: Role.USER, parts: [part('text', { text })] }] as const, ...more }
}

const isOverflow = (error: unknown): boolean => {
  if (!(error instanceof Rejection)) return false
  const { reason, metadata } = error
  assert.deepEqual([reason, metadata.status], ['PROVIDER_REFUSED', '400'])
  assert.deepEqual([metadata.code, metadata.error_type], ['context_length_exceeded', 'context_length_exceeded'])
  assert.match(metadata.message ?? '', /maximum context length is 20 tokens.*resulted in 20 tokens/)
  return true
}

test('a conversation that does not fit is refused as providers do, or ends a stream because of its length where the request says so', async () => {
  const signal = new AbortController().signal
  await assert.rejects(provider.generate(generationRequest(asking(20)), signal).next(), isOverflow)
  await assert.rejects(eventsOf(provider, asking(20)), isOverflow)
  const events = await eventsOf(provider, asking(20, { endsAtOverflow: true }))
  assert.deepEqual(events.at(-1), {
    case: 'finished',
    reason: FinishReason.LENGTH,
    rawReason: 'context_length_exceeded',
  })
})

test('an answer ends where the context does, and other models have none', async () => {
  const end = (await eventsOf(provider, asking(19))).at(-1)
  assert.deepEqual([end?.case, end?.reason], ['finished', FinishReason.LENGTH])
  await eventsOf(provider, asking(30, { modelId: 'echo' }))
})

test('a summary consists of the first and the last words of its conversation', async () => {
  const text = `/tool bash {}\n${Array.from({ length: 300 }, (_, n) => `w${n}`).join(' ')}`
  const messages = [{ role: Role.USER, parts: [part('text', { text })] }] as const
  const events = await eventsOf(provider, { modelId: 'echo', origin: 'compaction', messages })
  const [said = ''] = events.flatMap((event) =>
    event.case === 'partEnded' && event.part.case === 'text' ? [event.part.text] : [],
  )
  assert.match(said, /begins: \/tool bash {} w0 w1 .* w56\n\nIt ends: w240 .* w299$/)
})
