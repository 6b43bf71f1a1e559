import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destinationOf } from './destination.ts'
import { Networks } from './networks.ts'

const signal = new AbortController().signal
const name = 'issuer.example'

/** Where a URL leads if its host has these addresses; `undefined` if it is refused. */
async function leads(addresses: readonly string[], permitted: readonly string[] = [], url = `https://${name}/keys`) {
  const networks = new Networks(
    permitted.length === 0 ? [] : [{ networks: permitted, hosts: { 'listed.example': {} } }],
  )
  const asked: string[] = []
  const answersOf = (who: string) => async (host: string) => {
    asked.push(`${who} ${host}`)
    return addresses
  }
  const rules = { networks, ownOrigin: undefined, resolveByDns: answersOf('dns'), resolveBySystem: answersOf('system') }
  const answer = await destinationOf(new URL(url), rules, signal).catch((error: Error) => error.message)
  return { answer: typeof answer === 'string' ? undefined : answer.addresses, asked, problem: answer }
}

test('public addresses may be connected', async () => {
  for (const address of ['8.8.8.8', '140.82.112.3', '172.15.0.1', '172.32.0.1', '100.63.0.1', '2606:50c0:8000::153']) {
    assert.deepEqual((await leads([address])).answer, [address])
  }
  const both = ['1.1.1.1', '2606:4700:4700::1111']
  assert.deepEqual((await leads(both)).answer, both)
})

test('loopback, private, link-local, shared, mapped, compatible, translated and reserved addresses may not be connected', async () => {
  for (const address of [
    ...[
      '127.0.0.1',
      '127.255.255.254',
      '0.0.0.0',
      '0.1.2.3',
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
    ],
    ...['169.254.169.254', '100.64.0.1', '100.127.255.255', '192.0.0.1', '192.0.0.170', '198.18.0.1', '198.19.255.255'],
    ...['192.0.2.1', '198.51.100.7', '203.0.113.9', '192.88.99.1', '224.0.0.1', '239.255.255.255', '240.0.0.1'],
    ...['255.255.255.255', '::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '::7f00:1'],
    ...['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '2002:7f00:1::', '2001::1', '2001:db8::1', '3fff::1'],
    ...['fc00::1', 'fd00:ec2::254', 'fe80::1', 'febf::1', 'fec0::1', 'ff02::1', '100::1', '5f00::1', '4000::1'],
  ]) {
    const { answer, problem } = await leads([address])
    assert.equal(answer, undefined, address)
    assert.equal(problem, 'issuer.example has an address that issuers may not have')
  }
})

test('every address of a name has to be permitted', async () => {
  for (const bad of ['127.0.0.1', '10.0.0.1', '::ffff:10.0.0.1', 'fe80::1']) {
    assert.equal((await leads(['8.8.8.8', bad])).answer, undefined)
    assert.equal((await leads([bad, '8.8.8.8'])).answer, undefined)
  }
  assert.equal((await leads([])).answer, undefined)
  assert.deepEqual((await leads(['8.8.8.8', '8.8.4.4', '8.8.8.8'])).answer, ['8.8.8.8', '8.8.4.4', '8.8.8.8'])
})

test('networks that the operator permits may be connected at any port, and no others', async () => {
  const ten = ['10.0.0.0/8', 'fd00::/8']
  for (const url of [`https://${name}`, `https://${name}:6443/x`]) {
    assert.deepEqual((await leads(['10.1.2.3', 'fd00::1'], ten, url)).answer, ['10.1.2.3', 'fd00::1'])
    for (const other of ['11.1.2.3', '192.168.0.1', '::1', 'fe80::1']) {
      if (other !== '11.1.2.3' || url.endsWith('x')) assert.equal((await leads([other], ten, url)).answer, undefined)
    }
    // One certificate authority and one credential belong to a network, so all addresses must be of the same one.
    assert.equal((await leads(['10.1.2.3', '8.8.8.8'], ten, url)).answer, undefined)
  }
  assert.equal((await leads(['8.8.8.8'], [], `https://${name}:8443`)).answer, undefined)
  assert.deepEqual((await leads(['8.8.8.8'], ['8.8.8.8/32'], `https://${name}:8443`)).answer, ['8.8.8.8'])
})

test('an IP literal is checked like any address, without a lookup', async () => {
  for (const [url, answer] of [
    ['https://10.0.0.1/x', ['10.0.0.1']],
    ['https://[fd00::1]:6443/x', ['fd00::1']],
    ['https://127.0.0.1/x', undefined],
    ['https://[::1]/x', undefined],
    ['https://[::ffff:127.0.0.1]/x', undefined],
  ] as const) {
    const found = await leads(['8.8.8.8'], ['10.0.0.0/8', 'fd00::/8'], url)
    assert.deepEqual([found.answer, found.asked], [answer, []], url)
  }
})

test('names are looked up in DNS, and those that the operator lists through the system', async () => {
  assert.deepEqual((await leads(['10.0.0.1'], ['10.0.0.0/8'])).asked, [`dns ${name}`])
  const listed = await leads(['10.0.0.1'], ['10.0.0.0/8'], 'https://listed.example/x')
  assert.deepEqual(listed.asked, ['system listed.example'])
  const otherPort = await leads(['10.0.0.1'], ['10.0.0.0/8'], 'https://listed.example:8443/x')
  assert.deepEqual(otherPort.asked, ['dns listed.example'])
})
