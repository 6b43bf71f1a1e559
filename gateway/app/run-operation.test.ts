import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { openFacade } from '#test/support/facade.ts'
import { ANYBODY } from '../credentials.ts'
import { form, unparsed } from '../kinds.ts'
import { operation } from '../operation.ts'

const common = { method: 'post', credentials: ANYBODY, summary: 'S', errors: [] } as const

const operations = [
  operation({
    ...common,
    id: 'test.form',
    path: '/form',
    body: form(
      z.object({ grant: z.string().min(1), scope: z.string().min(1).optional(), note: z.string().optional() }),
    ),
    answer: z.strictObject({ grant: z.string(), scope: z.string().optional(), note: z.string().optional() }),
    handle: (_, { body }) => body,
    present: (body) => body,
  }),
  operation({
    ...common,
    id: 'test.raw',
    path: '/raw',
    body: unparsed(z.object({})),
    answer: z.strictObject({ hex: z.string() }),
    handle: (_, { body }) => body,
    present: (body) => ({ hex: body.toString('hex') }),
  }),
]

const post = (path: string, contentType: string, body: string | Uint8Array<ArrayBuffer>): [string, RequestInit] => [
  path,
  { method: 'POST', headers: { 'content-type': contentType }, body },
]

test('a form has each member once; empty ones are left out if they would be invalid, and unknown ones are ignored', async () => {
  await using facade = await openFacade({}, {}, undefined, operations)
  const type = 'application/x-www-form-urlencoded'
  const send = async (body: string, contentType = type) => {
    const answer = await facade.fetch(...post('/form', contentType, body))
    return [answer.status, await answer.json()]
  }
  assert.deepEqual(await send('grant=a%20b&scope=&note=&other=1', `${type}; charset=UTF-8`), [
    200,
    { grant: 'a b', note: '' },
  ])
  const refused = (status: number, message: string) => [
    status,
    { _tag: 'InvalidRequestError', message, kind: 'Payload' },
  ]
  assert.deepEqual(await send('grant=a&grant=b'), refused(400, 'grant: must be given only once'))
  assert.deepEqual(await send('grant='), refused(400, 'grant: is required'))
  assert.deepEqual(await send(''), refused(400, 'A request body is required'))
  assert.deepEqual(await send('{}', 'application/json'), refused(415, `The content type must be ${type}`))
})

test('hands the bytes of an unparsed body over as they were sent', async () => {
  await using facade = await openFacade({}, { PORTICO_BODY_LIMIT_BYTES: '1024' }, undefined, operations)
  const bytes = new Uint8Array([0, 255, 128])
  const answer = await facade.fetch(...post('/raw', 'application/json', bytes))
  assert.deepEqual([answer.status, await answer.json()], [200, { hex: '00ff80' }])
  const large = await facade.fetch(...post('/raw', 'application/json', new Uint8Array(1_025)))
  assert.equal(large.status, 413)
})
