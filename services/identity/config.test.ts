import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { readConfig } from './config.ts'

const problemsOf = (env: Record<string, string>) => {
  try {
    return readConfig(env) && []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

test('with nothing set, the store is SQLite in ./data and the first start generates the keys', () => {
  const store = { kind: 'sqlite', directory: resolve('data') }
  const nothing = { managementKey: undefined, apiKey: undefined, publicOrigin: undefined, encryptionKeys: [] }
  assert.deepEqual(readConfig({}), {
    ...{ store, ...nothing, federationNetworks: [], auditDays: 400, sharedIssuers: 'warn' },
  })
})

test('the audit log is kept for a number of days, and shared issuers cause a warning or a refusal', () => {
  const env = { PORTICO_AUDIT_DAYS: '0', PORTICO_FEDERATION_SHARED_ISSUERS: 'refuse' }
  const { auditDays, sharedIssuers } = readConfig(env)
  assert.deepEqual([auditDays, sharedIssuers], [0, 'refuse'])
  assert.deepEqual(problemsOf({ PORTICO_AUDIT_DAYS: '-1', PORTICO_FEDERATION_SHARED_ISSUERS: 'never' }), [
    { variable: 'PORTICO_AUDIT_DAYS', problem: 'must be at least 0, not -1' },
    { variable: 'PORTICO_FEDERATION_SHARED_ISSUERS', problem: 'must be warn or refuse, not never' },
  ])
})

test('a bootstrap key has 16 to 512 visible ASCII characters, and the message never repeats it', () => {
  for (const good of ['a'.repeat(16), '!~'.repeat(256)]) {
    assert.equal(readConfig({ PORTICO_BOOTSTRAP_API_KEY: good }).apiKey, good)
  }
  const problem = 'must be 16 to 512 visible ASCII characters'
  for (const bad of [
    'a'.repeat(15),
    'a'.repeat(513),
    'with a space inside',
    'with-a-line-break\n',
    'schlüsselschlüssel',
  ]) {
    assert.deepEqual(problemsOf({ PORTICO_BOOTSTRAP_API_KEY: bad, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: `${bad} ` }), [
      { variable: 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', problem },
      { variable: 'PORTICO_BOOTSTRAP_API_KEY', problem },
    ])
  }
})

test('a bootstrap key that has the form of an access token is refused', () => {
  const keyOf = (PORTICO_BOOTSTRAP_API_KEY: string) => readConfig({ PORTICO_BOOTSTRAP_API_KEY }).apiKey
  for (const good of [
    'eyJ-is-only-the-beginning',
    'eyJhbGciOi.two-parts-only',
    'not.a-token.of-any-kind',
    'eyJ.a.b.four-parts',
  ]) {
    assert.equal(keyOf(good), good)
  }
  assert.deepEqual(problemsOf({ PORTICO_BOOTSTRAP_MANAGEMENT_KEY: 'eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl' }), [
    { variable: 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', problem: 'must not have the form of an access token' },
  ])
})

test('one key cannot be both bootstrap keys', () => {
  const key = 'sk-portico-one-and-the-same'
  assert.deepEqual(problemsOf({ PORTICO_BOOTSTRAP_API_KEY: key, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: key }), [
    { variable: 'PORTICO_BOOTSTRAP_API_KEY', problem: 'must differ from PORTICO_BOOTSTRAP_MANAGEMENT_KEY' },
  ])
})

test('tokens name the origin of the public URL, without its path', () => {
  const originOf = (PORTICO_PUBLIC_URL: string) => readConfig({ PORTICO_PUBLIC_URL }).publicOrigin
  assert.equal(originOf('https://Portico.example:443/some/path/'), 'https://portico.example')
  assert.equal(originOf('http://127.0.0.1:4096'), 'http://127.0.0.1:4096')
  assert.deepEqual(problemsOf({ PORTICO_PUBLIC_URL: 'portico.example' }), [
    { variable: 'PORTICO_PUBLIC_URL', problem: 'must be an http:// or https:// URL' },
  ])
})

test('keys to encrypt with are 32 bytes in base64 each, and the message never repeats one', () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) => key.toString('base64')) as [string, string]
  assert.deepEqual(readConfig({ PORTICO_KEY_ENCRYPTION_KEY: one }).encryptionKeys, [one])
  assert.deepEqual(readConfig({ PORTICO_KEY_ENCRYPTION_KEY: `${one}, ${two}` }).encryptionKeys, [one, two])
  const problem = 'must be 32 bytes in base64 (openssl rand -base64 32), or up to 4 such keys, separated by commas'
  const short = Buffer.alloc(31, 1).toString('base64')
  for (const bad of ['secret', short, one.slice(0, -1), `${one},`, `${one},${short}`, Array(5).fill(one).join()]) {
    const problems = problemsOf({ PORTICO_KEY_ENCRYPTION_KEY: bad })
    assert.deepEqual(problems, [{ variable: 'PORTICO_KEY_ENCRYPTION_KEY', problem }])
  }
})

test('networks of issuers come with the certificates that are trusted there, and hosts with token files', () => {
  using folder = scratchDirectory()
  const [caFile, tokenFile] = ['ca.pem', 'token'].map((name) => join(folder.path, name)) as [string, string]
  writeFileSync(caFile, makeCertificate().cert)
  writeFileSync(tokenFile, 'token-of-a-pod\n')
  const networks = ['10.96.0.0/12', 'fd00::/8', '192.168.49.2/32']
  const hosts = { 'kubernetes.default.svc': { tokenFile }, '192.168.49.2:8443': {}, '[fd00::1]:6443': {} }
  const read = (value: unknown) => readConfig({ PORTICO_FEDERATION_NETWORKS: JSON.stringify(value) }).federationNetworks
  assert.deepEqual(read([{ networks, caFile, hosts }]), [{ networks, caFile, hosts }])
  assert.deepEqual(read([{ networks: ['127.0.0.0/8'] }]), [{ networks: ['127.0.0.0/8'], hosts: {} }])
  // Paths relative to other folders become absolute.
  assert.deepEqual(read([{ networks, caFile: relative('.', caFile) }])[0]?.caFile, caFile)
})

test('a network, host or file that cannot be used is a problem of its setting, whose message shows nothing of a file', () => {
  using folder = scratchDirectory()
  const bad = join(folder.path, 'bad')
  writeFileSync(bad, 'secret\nsecret')
  const problemOf = (value: unknown) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const [problem] = problemsOf({ PORTICO_FEDERATION_NETWORKS: text })
    assert.equal(problem?.variable, 'PORTICO_FEDERATION_NETWORKS', text)
    assert.doesNotMatch(problem.problem, /secret/)
    return problem.problem
  }
  assert.match(problemOf('10.0.0.0/8'), /must be valid JSON/)
  for (const network of ['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '::/129', 'fe80::1%eth0/64', 'localhost/8', '/8', '']) {
    assert.match(problemOf([{ networks: [network] }]), /must be a network such as 10.0.0.0\/8/, network)
  }
  for (const host of ['', 'a/b', 'https://a.example', 'a.example:443', 'A.example', 'u@a.example', '127.1', '[::01]']) {
    assert.match(
      problemOf([{ networks: ['10.0.0.0/8'], hosts: { [host]: {} } }]),
      /hosts\..*: has an invalid member name/,
      host,
    )
  }
  for (const caFile of [bad, join(folder.path, 'none'), folder.path]) {
    assert.match(problemOf([{ networks: ['10.0.0.0/8'], caFile }]), /must be a file with a certificate in PEM form/)
  }
  const hosts = (tokenFile: string) => [{ networks: ['10.0.0.0/8'], hosts: { 'a.example': { tokenFile } } }]
  assert.match(problemOf(hosts(bad)), /must contain exactly one line of text/)
  assert.match(problemOf(hosts(join(folder.path, 'none'))), /cannot be read \(ENOENT\)/)
  for (const value of [{}, [{}], [{ networks: [] }], [{ networks: ['10.0.0.0/8'], caFiles: [] }], ['10.0.0.0/8']])
    problemOf(value)
})
