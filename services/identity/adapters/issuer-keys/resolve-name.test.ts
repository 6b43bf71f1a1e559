import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import { waitFor } from '#test/support/wait-until.ts'
import { byDns, bySystem } from './resolve-name.ts'

type Answer = 'silent' | 'no such name' | { readonly 1: readonly string[]; readonly 28: readonly string[] }

/** A DNS server on the loopback; type 1 are IPv4 addresses in hexadecimal digits, type 28 IPv6 addresses. */
async function startDns(answer: (name: string) => Answer) {
  const asked: string[] = []
  const socket = createSocket('udp4', (query, from) => {
    const end = query.indexOf(0, 12)
    const name = query
      .subarray(13, end)
      .toString('latin1')
      .replace(/[^a-z0-9-]/g, '.')
    const type = query.readUInt16BE(end + 1) as 1 | 28
    asked.push(`${name} ${type}`)
    const found = answer(name)
    if (found === 'silent') return
    const records = found === 'no such name' ? [] : found[type]
    const head = Buffer.from(query.subarray(0, end + 5))
    head.writeUInt16BE(found === 'no such name' ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(records.length, 6)
    head.writeUInt32BE(0, 8)
    const body = records.map((hex) => {
      const data = Buffer.from(hex, 'hex')
      const record = Buffer.alloc(12)
      record.writeUInt16BE(0xc00c, 0)
      record.writeUInt16BE(type, 2)
      record.writeUInt16BE(1, 4)
      record.writeUInt16BE(data.length, 10)
      return Buffer.concat([record, data])
    })
    socket.send(Buffer.concat([head, ...body]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    asked,
    resolve: byDns([`127.0.0.1:${socket.address().port}`]),
    [Symbol.dispose]: () => void socket.close(),
  }
}

const signal = new AbortController().signal
const six = '26064700470000000000000000001111'

test('all addresses of a name are found, of both families', async () => {
  using dns = await startDns(() => ({ 1: ['01010101', '7f000001'], 28: [six] }))
  assert.deepEqual(await dns.resolve('issuer.example', signal), ['1.1.1.1', '127.0.0.1', '2606:4700:4700::1111'])
  assert.deepEqual(dns.asked.sort(), ['issuer.example 1', 'issuer.example 28'])
})

test('a name with addresses of one family has those, and one without any is an error', async () => {
  using dns = await startDns((name) => {
    if (name === 'none.example') return 'no such name'
    return { 1: name.startsWith('four') ? ['01010101'] : [], 28: name.startsWith('six') ? [six] : [] }
  })
  assert.deepEqual(await dns.resolve('four.example', signal), ['1.1.1.1'])
  assert.deepEqual(await dns.resolve('six.example', signal), ['2606:4700:4700::1111'])
  await assert.rejects(dns.resolve('empty.example', signal), { code: 'ENODATA' })
  await assert.rejects(dns.resolve('none.example', signal), { code: 'ENOTFOUND' })
})

test('a name in the hosts file is looked up in DNS all the same', async () => {
  using dns = await startDns(() => ({ 1: ['0a000001'], 28: [] }))
  assert.deepEqual(await dns.resolve('localhost', signal), ['10.0.0.1'])
  assert.ok((await bySystem('localhost', signal)).some((address) => ['127.0.0.1', '::1'].includes(address)))
})

test('a lookup at a silent server ends with its signal', async () => {
  using dns = await startDns(() => 'silent')
  const leaving = new AbortController()
  const resolving = dns.resolve('issuer.example', leaving.signal)
  resolving.catch(() => {})
  await waitFor('both questions arrived', () => dns.asked.length >= 2)
  leaving.abort(new Error('the time is over'))
  await assert.rejects(resolving, { code: 'ECANCELLED' })
  for (const resolve of [dns.resolve, bySystem])
    await assert.rejects(resolve('issuer.example', leaving.signal), /the time is over/)
})
