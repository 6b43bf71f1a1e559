import assert from 'node:assert/strict'
import { test } from 'node:test'
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

test('what an untrusted document names is refused, with what to do; it can switch off, and not on', () => {
  const own = document({ a: local, b: { ...local, enabled: false } })
  const entries = readMcpEntries([own, document({ a: { enabled: false }, b: { enabled: true }, c: local }, false)])
  assert.deepEqual(
    entries.map(({ name, type }) => [name, type]),
    [
      ['a', 'disabled'],
      ['b', 'disabled'],
      ['c', 'refused'],
    ],
  )
  assert.match(problemOf(entries[2]) ?? '', /^\/project\/opencode.json is not trusted: .* PORTICO_TRUSTED_DIRECTORIES/)
  const [back] = readMcpEntries([own, document({ b: { enabled: true } })].slice(0, 2)).slice(1)
  assert.equal(back?.type, 'usable')
  const [replaced] = readMcpEntries([own, document({ a: { ...local, command: ['evil'] } }, false)])
  assert.equal(replaced?.type, 'refused')
})

test('an entry that is malformed is refused with what is wrong, and the others stay', () => {
  const wrong: Readonly<Record<string, readonly [entry: unknown, problem: RegExp]>> = {
    a: ['x', /must be an object/],
    b: [{}, /`type` must be/],
    c: [{ type: 'local' }, /`command` must be a list/],
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
    ...{ type: 'refused', name: 'q', status: 'needs_auth' },
    problem: 'OAuth is not supported: give the server a token in `headers`',
  })
})

test('a location has 50 servers at most', () => {
  const entries = readMcpEntries([document(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`s${i}`, local])))])
  assert.deepEqual([entries[49]?.type, problemOf(entries[50])], ['usable', 'a location has at most 50 MCP servers'])
})
