import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import pino from 'pino'
import { Call } from '../call.ts'
import { explain } from './explain.ts'

/** What is logged of an error once the server has stopped a request, and what its client sees. */
function explained(failure: (call: Call) => unknown) {
  const logged: { ref?: string; err: { message: string } }[] = []
  const logger = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const call = new Call('gateway', 'req_1', () => '')
  call.stop()
  const { status, body } = explain({ logger }, call, failure(call))
  const [first] = logged
  if (first !== undefined) assert.equal(call.ref, first.ref)
  return { status, message: Object(body).error.message, logged: logged.map(({ err }) => err.message) }
}

const stopping = { status: 503, message: 'The server is stopping' }

test('an internal error of a request that the server stopped is logged; that it was stopped is not', () => {
  assert.deepEqual(
    explained(() => new TypeError('no such member')),
    { ...stopping, logged: ['no such member'] },
  )
  const canceled = new ConnectError('The call was canceled', Code.Canceled)
  for (const failure of [() => canceled, (call: Call) => call.signal.reason]) {
    assert.deepEqual(explained(failure), { ...stopping, logged: [] })
  }
})
