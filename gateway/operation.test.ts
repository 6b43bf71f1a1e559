import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { ANYBODY, OF_KEYS, OF_MANAGERS, OF_SESSIONS, OF_USERS } from './credentials.ts'
import { noContent, stream } from './kinds.ts'
import { operation } from './operation.ts'

const common = {
  id: 'a.get',
  method: 'get',
  summary: 'A',
  errors: [],
} as const

test('the parts of an operation have to fit together, or it does not compile', () => {
  const answer = z.strictObject({ id: z.string() })
  const params = z.object({ sessionID: z.string() })
  const path = '/api/a/{sessionID}'
  const handle = () => 'x'
  const present = (id: string) => ({ id })
  operation({ ...common, path, params, answer, handle, present })
  operation({ ...common, path: '/api/a', answer: noContent, handle })
  // @ts-expect-error without a schema for what it answers
  operation({ ...common, path: '/api/a', handle, present })
  // @ts-expect-error without a function that makes what it answers
  operation({ ...common, path, params, answer, handle })
  // @ts-expect-error which makes something else
  operation({ ...common, path, params, answer, handle, present: () => ({ id: 1 }) })
  // @ts-expect-error without a schema for the parameters of its path
  operation({ ...common, path, answer, handle, present })
  // @ts-expect-error with one for others
  operation({ ...common, path, params: z.object({ sessionId: z.string() }), answer, handle, present })
  // @ts-expect-error with errors that its family does not know
  operation({ ...common, errors: ['PROVIDER_TIMEOUT'], path: '/api/a', answer, handle, present })
  // @ts-expect-error with errors that would be our own mistake there
  operation({ ...common, errors: ['TOOL_FENCED'], path: '/api/a', answer, handle, present })
  // @ts-expect-error with a body that nobody described
  operation({ ...common, path: '/api/a', answer: noContent, handle: (_, { body }) => body.text })
  assert.equal(typeof stream, 'function', 'the compiler refused each')
})

test('gives an operation the family, the credentials and the errors of its path', () => {
  const made = (path: `/${string}`) => operation({ ...common, path, answer: noContent, handle: () => undefined })
  for (const [path, family, credentials] of [
    ['/livez', 'instance', ANYBODY],
    ['/api/a', 'instance', OF_SESSIONS],
    ['/api/v1/a', 'gateway', OF_KEYS],
    ['/api/v1/keys', 'gateway', OF_MANAGERS],
    ['/api/v1/keysmith', 'gateway', OF_KEYS],
    ['/api/v1/messages', 'messages', OF_USERS],
    ['/api/v1/oauth/token', 'oauth', ANYBODY],
  ] as const) {
    const { family: given, credentials: accepted } = made(path)
    assert.deepEqual([given, accepted], [family, credentials], path)
  }
  const params = z.object({ sessionID: z.string() })
  const query = z.object({ location: z.string().optional() })
  const { errors } = operation({
    ...common,
    ...{ path: '/api/a/{sessionID}', params, query, errors: ['INVALID_CURSOR'] },
    answer: noContent,
    handle: () => undefined,
  })
  const ofLocations = ['LOCATION_INVALID', 'LOCATION_NOT_FOUND', 'LOCATION_FORBIDDEN']
  assert.deepEqual(errors, ['SESSION_NOT_FOUND', ...ofLocations, 'INVALID_CURSOR'])
})
