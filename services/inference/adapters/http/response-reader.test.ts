import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dispatcher } from 'undici'
import { ResponseReader } from './response-reader.ts'

const undici = { paused: false, pause() {}, resume() {}, abort() {} } as unknown as Dispatcher.DispatchController

test('a read whose chunk came just before an abort rejects with the reason of the abort', async () => {
  const client = new AbortController()
  const reader = new ResponseReader('p', client.signal)
  reader.onRequestStart(undici)
  reader.onResponseStart(undici, 200, {})
  const read = reader.read()
  reader.onResponseData(undici, Buffer.from('a'))
  client.abort(new Error('gone'))
  await assert.rejects(read, /gone/)
})
