import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

/** Uses Express like others do, and prints what it had loaded before and what it answered. */
const PROGRAM = `
import { once } from 'node:events'
import { createRequire } from 'node:module'
import express from 'express'
const files = Object.keys(createRequire(import.meta.url).cache)
const loaded = () => files.filter((file) => /node_modules.(body-parser|mime-types|qs|send|serve-static|side-channel)\\b/.test(file))
const early = loaded()
const app = express()
app.set('query parser', 'extended')
app.use(express.json(), express.urlencoded({ extended: true }))
app.post('/', (request, response) => response.type('html').send(JSON.stringify([request.query, request.body])))
app.use(express.static('scripts'))
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = 'http://127.0.0.1:' + server.address().port
const post = async (type, body) => {
  const answer = await fetch(url + '/?a[b]=1', { method: 'POST', headers: { 'content-type': type }, body })
  return [answer.headers.get('content-type'), await answer.json()]
}
const answers = [await post('application/json', '{"c":2}'), await post('application/x-www-form-urlencoded', 'c[]=2')]
const file = await fetch(url + '/end.mjs')
console.log(JSON.stringify([early, answers, file.status, file.headers.get('content-type')]))
process.exit()
`

test('Express starts without what it seldom needs, and loads it when called', () => {
  const words = ['--import', './scripts/compile-cache.mjs', '--input-type=module', '--eval', PROGRAM]
  const { stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: join(import.meta.dirname, '..'),
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  const html = 'text/html; charset=utf-8'
  const answers = [
    [html, [{ a: { b: '1' } }, { c: 2 }]],
    [html, [{ a: { b: '1' } }, { c: ['2'] }]],
  ]
  assert.deepEqual(JSON.parse(stdout), [[], answers, 200, 'text/javascript; charset=utf-8'])
})
