import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { satisfies } from 'semver'

interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly engines?: { readonly node?: string }
}

const LOCK: Readonly<Record<string, Entry>> = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
/** A package of Node itself, for one platform. */
const NODE = /^node_modules\/node-(?:bin-)?(?:darwin|linux|win)-\w+$/

test('the pinned Node of every platform is one that all packages of the product take', () => {
  const all = Object.entries(LOCK)
  const nodes = all.filter(([path]) => NODE.test(path)).map(([, { version = '' }]) => version)
  assert.equal(nodes.length, 5)
  const used = all.filter(([path, { dev }]) => path !== '' && dev !== true && !NODE.test(path))
  assert.ok(used.length > 100)
  for (const node of nodes)
    for (const [path, { engines }] of used) assert.ok(satisfies(node, engines?.node ?? '*'), `${path} on Node ${node}`)
})
