import assert from 'node:assert/strict'
import { test } from 'node:test'
import { McpServer_Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { ConfigurationDocument } from '../configuration.ts'
import { type McpEntry, readMcpEntries } from './server-entry.ts'

const document = (mcp: unknown, trusted = true): ConfigurationDocument => ({
  path: trusted ? '/home/a/opencode.json' : '/project/opencode.json',
  trusted,
  value: { mcp },
})
const local = { type: 'local', command: ['node', 'server.js'] }
const problemOf = (entry: McpEntry | undefined) => (entry?.type === 'refused' ? entry.problem : entry?.type)

test('servers are named by OpenCode’s key, and a later entry takes the place of an earlier one', () => {
  const remote = { type: 'remote', url: 'http://10.0.0.1:3000/mcp', headers: { Authorization: 'Bearer x' } }
  const documents = [
    document({ a: local, b: remote, c: local }),
    document({ c: { ...local, environment: { KEY: 'v' }, cwd: 'sub', timeout: 500 }, d: { ...local, enabled: false } }),
    document([]),
  ]
  const target = { type: 'local', command: ['node', 'server.js'], environment: {}, cwd: undefined }
  assert.deepEqual(readMcpEntries(documents), [
    { type: 'usable', name: 'a', target, timeoutMs: undefined },
    { type: 'usable', name: 'b', target: remote, timeoutMs: undefined },
    { type: 'usable', name: 'c', target: { ...target, environment: { KEY: 'v' }, cwd: 'sub' }, timeoutMs: 500 },
    { type: 'disabled', name: 'd' },
  ])
})

test('a server in an untrusted document is refused, with what to do; one in a trusted document is left alone', () => {
  const own = document({ a: local, b: { ...local, enabled: false } })
  const before = readMcpEntries([own])
  for (const a of [{ enabled: false }, { ...local, command: ['evil'] }, 'x', null]) {
    const entries = readMcpEntries([own, document({ a, b: { enabled: true }, c: local }, false)])
    assert.deepEqual(entries.slice(0, 2), before)
    assert.match(
      problemOf(entries[2]) ?? '',
      /^\/project\/opencode.json is not trusted: .* PORTICO_TRUSTED_DIRECTORIES/,
    )
  }
  const switched = readMcpEntries([own, document({ a: { enabled: false }, b: { enabled: true } })])
  assert.deepEqual(
    switched.map(({ type }) => type),
    ['disabled', 'usable'],
  )
})

test('an entry that is malformed is refused with what is wrong, and the others stay', () => {
  const wrong: Readonly<Record<string, readonly [entry: unknown, problem: RegExp]>> = {
    a: ['x', /must be an object/],
    b: [{}, /`type` must be/],
    c: [{ type: 'local' }, /`command` must be an array/],
    d: [{ type: 'local', command: ['-x'] }, /begin with a program/],
    e: [{ type: 'local', command: ['a\0'] }, /`command`/],
    f: [{ ...local, environment: { 'A=B': 'x' } }, /`environment`/],
    g: [{ ...local, environment: { A: 1 } }, /`environment`/],
    h: [{ ...local, timeout: '1' }, /`timeout`/],
    i: [{ ...local, enabled: 'yes' }, /`enabled`/],
    j: [{ type: 'remote', url: 'ftp://x' }, /`url` must be/],
    k: [{ type: 'remote', url: 'http://a:b@x' }, /`url` must not contain/],
    l: [{ type: 'remote', url: 'http://x', headers: { A: 'b\nc' } }, /`headers`/],
    m: [{ type: 'local', command: ['x'.repeat(40_000)] }, /more than 32768 characters/],
    'n/o': [local, /its name must be/],
    'p*': [local, /its name must be/],
    '': [local, /its name must be/],
    r: [{ ...local, environment: { A: '{env:NO_SUCH}' } }, /the environment variable NO_SUCH is not set/],
    q: [{ type: 'remote', url: 'http://x', oauth: {} }, /OAuth is not supported/],
  }
  const entries = readMcpEntries([
    document({ ...Object.fromEntries(Object.entries(wrong).map(([name, [entry]]) => [name, entry])), z: local }),
  ])
  for (const [index, [name, [, problem]]] of Object.entries(wrong).entries()) {
    assert.match(problemOf(entries[index]) ?? '', problem, name)
  }
  assert.equal(entries.at(-1)?.type, 'usable')
  assert.deepEqual(entries.at(-2), {
    ...{ type: 'refused', name: 'q', status: McpServer_Status.NEEDS_AUTH },
    problem: 'OAuth is not supported: give the server a token in `headers`',
  })
})

test('a location has at most 50 servers, from which untrusted documents take none away, and a list of them has an end', () => {
  const many = (name: string) => Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`${name}${i}`, local]))
  const entries = readMcpEntries([document(many('u'), false), document(many('t'))])
  assert.deepEqual([entries.length, entries[99]?.name, entries[100]?.name], [200, 'u99', 't0'])
  const problem = 'a location has at most 50 MCP servers'
  assert.deepEqual([problemOf(entries[99]), entries[149]?.type, problemOf(entries[150])], [problem, 'usable', problem])
})
