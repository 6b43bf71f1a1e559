import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { ToolCalls } from './tool-calls.ts'

const reason = (name: string) => (error: unknown) => error instanceof Rejection && error.reason === name

test('a session of another workspace is another session', async () => {
  const calls = new ToolCalls()
  ;(await calls.begin('wrk_1', 'ses_1', 'call_1', 2n)).settle(false)
  ;(await calls.begin('wrk_2', 'ses_1', 'call_1', 1n)).settle(false)
  await assert.rejects(calls.begin('wrk_1', 'ses_1', 'call_2', 1n), reason('TOOL_FENCED'))
})

test('ended calls are forgotten with the next fence; one that was not started is forgotten at once', async () => {
  const calls = new ToolCalls()
  ;(await calls.begin('w', 's', 'c', 1n)).settle(true)
  ;(await calls.begin('w', 's', 'c', 1n)).settle(false)
  await assert.rejects(calls.begin('w', 's', 'c', 1n), reason('TOOL_CALL_STARTED'))
  ;(await calls.begin('w', 's', 'c', 2n)).settle(false)
})

test('the newest of two newer fences wins, and the older one is refused after its wait', async () => {
  const calls = new ToolCalls()
  const old = await calls.begin('w', 's', 'old', 1n)
  const second = calls.begin('w', 's', 'second', 2n)
  const third = calls.begin('w', 's', 'third', 3n)
  assert.ok(old.signal.aborted)
  old.settle(false)
  await assert.rejects(second, reason('TOOL_FENCED'))
  assert.equal((await third).signal.aborted, false)
})

test('the last 10,000 idle sessions are remembered, and every one that runs something', async () => {
  const calls = new ToolCalls()
  const running = await calls.begin('w', 'running', 'c', 5n)
  ;(await calls.begin('w', 'first', 'c', 5n)).settle(false)
  for (let i = 0; i < 10_000; i++) await calls.endOlder('w', `ses_${i}`, 5n)
  await assert.rejects(calls.begin('w', 'ses_9999', 'c', 4n), reason('TOOL_FENCED'))
  await assert.rejects(calls.begin('w', 'running', 'c', 4n), reason('TOOL_FENCED'))
  ;(await calls.begin('w', 'first', 'c', 4n)).settle(false)
  running.settle(false)
})

test('the last 10,000 ended calls of a session are remembered', async () => {
  const calls = new ToolCalls()
  for (let i = 0; i <= 10_000; i++) (await calls.begin('w', 's', `call_${i}`, 1n)).settle(false)
  await assert.rejects(calls.begin('w', 's', 'call_1', 1n), reason('TOOL_CALL_STARTED'))
  ;(await calls.begin('w', 's', 'call_0', 1n)).settle(false)
})

test('closing aborts running calls, waits for them, and admits no more', async () => {
  const calls = new ToolCalls()
  const call = await calls.begin('w', 's', 'c', 1n)
  let closed = false
  const closing = calls[Symbol.asyncDispose]().then(() => {
    closed = true
  })
  assert.ok(reason('SERVICE_CLOSING')(call.signal.reason))
  await assert.rejects(calls.begin('w', 's', 'd', 1n), reason('SERVICE_CLOSING'))
  assert.equal(closed, false)
  call.settle(false)
  await closing
})
