import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressProblem, type PermittedNetworks } from './address.ts'

const none: PermittedNetworks = { any: false, permit: () => false }
const ten: PermittedNetworks = { any: true, permit: (address) => address.startsWith('10.') || address === '::1' }

const problems = (text: string, networks = none, own?: string) =>
  (['issuer', 'key set'] as const).map((kind) => addressProblem(text, kind, networks, own))

/** Refused as an address of either kind. */
function refused(text: string, problem: RegExp, networks = none): void {
  for (const found of problems(text, networks)) assert.match(found ?? 'it can be saved', problem, text)
}

test('addresses are https with a host name at port 443', () => {
  for (const text of [
    'https://token.actions.githubusercontent.com',
    'https://accounts.google.com/',
    'https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE',
    'https://Login.Example.com/Tenant/v2.0',
    'https://issuer.example:443/a//b/%2e',
    'https://xn--bcher-kva.example',
    'https://a_b.example',
    'https://kubernetes.default.svc.cluster.local',
  ]) {
    assert.deepEqual(problems(text), [undefined, undefined], text)
  }
})

test('other schemes, ports and forms are refused', () => {
  for (const text of ['http://issuer.example', 'HTTPS://issuer.example', ' https://a.example', 'issuer.example', '']) {
    refused(text, /must begin with https/)
  }
  for (const text of ['https://a.example:8443', 'https://a.example:80/x', 'https://a.example:0443']) {
    refused(text, /^must use port 443, unless PORTICO_FEDERATION_NETWORKS permits its network$/)
  }
  for (const text of ['https://', 'https:///path', 'https://a.example:99999', 'https://[::1']) {
    refused(text, /must (be a URL|name a host|spell)/)
  }
})

test('an address has no user, password or fragment, and that of an issuer no query', () => {
  for (const text of [
    'https://user@a.example',
    'https://u:p@a.example',
    'https://@a.example',
    'https://:@a.example/',
  ]) {
    refused(text, /user name or password/)
  }
  for (const text of ['https://a.example/#part', 'https://a.example#']) refused(text, /fragment/)
  for (const text of ['https://a.example?x=1', 'https://a.example/?', 'https://a.example/p?']) {
    const [issuer, keySet] = problems(text)
    assert.match(issuer ?? '', /query/)
    assert.equal(keySet, undefined)
  }
})

test('a host is not an IP literal, in any form that a URL parser takes for one', () => {
  for (const text of ['https://127.0.0.1', 'https://8.8.8.8/keys', 'https://[::1]', 'https://[2001:db8::1]/x']) {
    refused(text, /not an IP address/)
  }
  for (const host of [
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1.',
    '[::ffff:127.0.0.1]',
    '[0::1]',
  ]) {
    refused(`https://${host}/keys`, /must (spell its host plainly|name a host)/)
  }
})

test('an address with characters that a URL parser drops, replaces or maps is refused', () => {
  for (const text of [
    'https://ⓔxample.com',
    'https://exam\tple.com',
    'https://a.example\\@b.example',
    'https://a.example/ x',
  ]) {
    refused(text, /visible ASCII/)
  }
  for (const text of ['https://a.example\n', 'https://a.example/\u0000', 'https://bücher.example']) {
    refused(text, /visible ASCII/)
  }
  for (const text of [
    'https://%6cocalhost',
    'https://a.example%2eb',
    'https://a.example:',
    'https://a.example:443:443',
  ]) {
    refused(text, /must (spell its host plainly|be a URL)/)
  }
  for (const text of [
    'https://a..example',
    'https://.example',
    'https://a.example.',
    `https://${'a'.repeat(64)}.example`,
  ]) {
    refused(text, /must name a host/)
  }
})

test('permitted networks may use their IP literals and other ports', () => {
  for (const text of [
    'https://10.1.2.3',
    'https://10.1.2.3:6443/openid/v1/jwks',
    'https://[::1]:8443',
    'https://a.example:8443',
  ]) {
    assert.deepEqual(problems(text, ten), [undefined, undefined], text)
  }
  for (const text of ['https://127.0.0.1:6443', 'https://192.168.0.1', 'https://[::2]'])
    refused(text, /IP address/, ten)
})

test('our own origin is not an issuer', () => {
  for (const own of ['https://portico.example', 'https://portico.example/']) {
    for (const text of ['https://portico.example', 'https://PORTICO.example/api', 'https://portico.example:443/x']) {
      for (const found of problems(text, none, own)) assert.match(found ?? '', /this server/)
    }
    assert.deepEqual(problems('https://portico.example.com', none, own), [undefined, undefined])
  }
})
