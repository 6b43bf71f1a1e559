import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { Command } from '../commands/command.ts'
import { MAX_UNSOLICITED_BYTES } from './pace.ts'
import { StdioTransport } from './stdio-transport.ts'

/** A transport on a channel that `say` writes to as its server would. */
async function open() {
  const [output, channel] = [new PassThrough(), new PassThrough()]
  // Nothing that is sent is answered automatically.
  channel.write = () => true
  const ended = new Promise<never>(() => {})
  const transport = new StdioTransport({ output, channel, ended } as unknown as Command)
  const received: JSONRPCMessage[] = []
  transport.onmessage = (message) => void received.push(message)
  await transport.start()
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const say = async (message: object): Promise<void> => {
    channel.emit('data', Buffer.from(`${JSON.stringify(message)}\n`))
    await turn()
  }
  return { transport, output, channel, received, say }
}

const large = 'x'.repeat(MAX_UNSOLICITED_BYTES)
const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, message: large } }
const answer = (id: number) => ({ jsonrpc: '2.0', id, result: { text: large } })

test('a large message is read only while a call waits for its answer, and only if it begins as an answer', async () => {
  const { transport, received, say } = await open()
  await say(progress)
  await say(answer(1))
  assert.deepEqual(received, [])
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' })
  await say(progress)
  assert.deepEqual(received, [])
  await say(answer(1))
  assert.deepEqual(received, [answer(1)])
  await say(answer(1))
  await transport.send({ jsonrpc: '2.0', id: 2, method: 'tools/call' })
  await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  await say(answer(2))
  assert.equal(received.length, 1)
})

test('reading pauses for a while after a large message', async () => {
  const { transport, channel, say } = await open()
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' })
  await say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
  assert.equal(channel.isPaused(), false)
  await say(answer(1))
  assert.equal(channel.isPaused(), true)
  await new Promise<void>((resolve) => channel.once('resume', resolve))
})

test('only a part of endless error output is read', async () => {
  const { output } = await open()
  let read = 0
  output.on('data', ({ length }: Buffer) => {
    read += length
  })
  const chunk = Buffer.alloc(64 << 10)
  for (let i = 0; i < 1_000; i++) {
    output.write(chunk)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(read < 8 << 20, `${read} bytes`)
})
