import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { LoadClient, median } from './load.ts'

test('a load sends exactly as many requests as its arguments say, and never more at once', async () => {
  let [served, open, most] = [0, 0, 0]
  const server = createServer((_, response) => {
    served += 1
    open += 1
    most = Math.max(most, open)
    setImmediate(() => {
      open -= 1
      response.end('{}')
    })
  })
  after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  {
    await using client = new LoadClient(url, 4)
    const { p50, requestsPerSecond } = await client.load(101, 4, () => ({ method: 'GET', path: '/' }))
    assert.deepEqual([served, open, most <= 4, p50 > 0, requestsPerSecond > 0], [101, 0, true, true, true])
  }
})

test('a load ends with an error when an answer is not a success', async () => {
  const server = createServer((_, response) => response.writeHead(503).end('busy'))
  after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  {
    await using client = new LoadClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1)
    await assert.rejects(
      client.load(3, 1, () => ({ method: 'GET', path: '/x' })),
      /\/x answered 503: busy/,
    )
  }
})

test('the median of an even number of values is the mean of the middle ones', () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 3, 2]), median([])], [2, 2.5, Number.NaN])
})
