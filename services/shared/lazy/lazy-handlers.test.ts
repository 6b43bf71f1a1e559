import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { lazyHandlers } from './lazy-handlers.ts'

const context = {} as HandlerContext

/** Handlers that return what they were given; the first load fails. */
function prepare() {
  let loads = 0
  const handlers = {
    async listModels(request: unknown) {
      return { said: request }
    },
    async *streamGenerate(request: unknown) {
      yield 1
      yield request
    },
  } as unknown as ServiceImpl<typeof InferenceService>
  const lazy = lazyHandlers(InferenceService, async () => {
    loads += 1
    if (loads === 1) throw new Error('not now')
    return handlers
  })
  const list = lazy.listModels as unknown as (request: unknown, context: HandlerContext) => Promise<unknown>
  const stream = lazy.streamGenerate as unknown as (request: unknown, c: HandlerContext) => AsyncIterable<unknown>
  return { list, stream, handlers, loads: () => loads }
}

test('handlers are loaded with the first call, once, and after a failure with the next one', async () => {
  const { list, stream, loads } = prepare()
  assert.equal(loads(), 0)
  await assert.rejects(list('a', context), /not now/)
  const [one, two] = await Promise.all([list('a', context), Array.fromAsync(stream('b', context))])
  assert.deepEqual([one, two, loads()], [{ said: 'a' }, [1, 'b'], 2])
})

test('once they are loaded, nothing stands between a caller and a handler', async () => {
  const { list, stream, handlers } = prepare()
  await list('a', context).catch(() => {})
  await list('a', context)
  const generator = stream('b', context)
  assert.equal(
    Object.getPrototypeOf(generator),
    (handlers.streamGenerate as unknown as { prototype: object }).prototype,
  )
})
