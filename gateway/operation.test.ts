import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { OF_SESSIONS } from './credentials.ts'
import { noContent, stream } from './kinds.ts'
import { operation } from './operation.ts'

const common = {
  id: 'a.get',
  method: 'get',
  family: 'instance',
  credentials: OF_SESSIONS,
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
  const { credentials: _, ...undeclared } = common
  // @ts-expect-error without the credentials that it takes
  operation({ ...undeclared, path, params, answer, handle, present })
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
