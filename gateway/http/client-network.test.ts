import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import test from 'node:test'
import { ClientNetworks, isNetwork } from './client-network.ts'

function networkOf(remoteAddress: string, forwarded?: string, proxies: readonly string[] = []): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return new ClientNetworks(proxies).of({ socket: { remoteAddress }, headers } as IncomingMessage)
}

test('59: the addresses of one /64 of IPv6 are one client, and so are the two forms of an IPv4 address', () => {
  const same: [string, string][] = [
    ['2001:db8:1:2::1', '2001:DB8:1:2:ffff::9'],
    ['2001:db8:1:2::1', '2001:0db8:0001:0002:3:4:5:6'],
    ['2001:db8::1', '2001:db8:0:0:5:6:7:8'],
    ['fe80::1%eth0', 'fe80::2'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1', '10.0.0.1'],
    ['0:0:0:0:0:ffff:10.0.0.1', '10.0.0.1'],
    ['64:ff9b::10.0.0.1', '64:ff9b::10.0.0.2'],
  ]
  for (const [one, other] of same) assert.equal(networkOf(one), networkOf(other), `${one} ${other}`)
  const other: [string, string][] = [
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['10.0.0.1', '10.0.0.2'],
    ['::1', '::ffff:0.0.0.1'],
  ]
  for (const [one, different] of other) assert.notEqual(networkOf(one), networkOf(different), `${one} ${different}`)
  assert.equal(networkOf('2001:db8:1:2::1'), '2001:db8:1:2::/64')
  assert.equal(networkOf('::ffff:10.0.0.1'), '10.0.0.1')
})

test('59: without trusted proxies the address of the connection counts, whatever the header says', () => {
  assert.equal(networkOf('10.0.0.1', '192.0.2.7'), '10.0.0.1')
  assert.equal(networkOf('10.0.0.1', '192.0.2.7', ['10.0.0.2', '2001:db8::/32']), '10.0.0.1')
})

test('59: behind trusted proxies the right-most untrusted address counts, a forged entry does not', () => {
  const proxies = ['10.0.0.0/8', '2001:db8::/32', '127.0.0.1']
  const cases: [string, string | undefined, string][] = [
    ['10.1.2.3', '192.0.2.7', '192.0.2.7'],
    ['::ffff:10.1.2.3', '192.0.2.7', '192.0.2.7'],
    ['10.1.2.3', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
    ['10.1.2.3', '198.51.100.1, 192.0.2.7, 10.9.9.9,2001:db8::5', '192.0.2.7'],
    ['2001:db8::1', '2001:dead:1:2::3', '2001:dead:1:2::/64'],
    ['10.1.2.3', '192.0.2.7:55555', '192.0.2.7'],
    ['10.1.2.3', '[2001:dead:1:2::3]:443', '2001:dead:1:2::/64'],
    ['10.1.2.3', '::ffff:10.0.0.4, 10.0.0.5', '10.0.0.4'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['10.1.2.3', '', '10.1.2.3'],
    ['10.1.2.3', 'unknown', '10.1.2.3'],
    ['10.1.2.3', '192.0.2.7, unknown, 10.0.0.4', '10.0.0.4'],
    ['192.0.2.9', '198.51.100.1', '192.0.2.9'],
  ]
  for (const [remote, forwarded, expected] of cases) {
    assert.equal(networkOf(remote, forwarded, proxies), expected, `${remote} ${forwarded}`)
  }
})

test('a proxy is an address or a network', () => {
  for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32', '0.0.0.0/0']) assert.ok(isNetwork(text), text)
  for (const text of ['', 'localhost', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/x', '10.0.0'])
    assert.ok(!isNetwork(text), text)
})
