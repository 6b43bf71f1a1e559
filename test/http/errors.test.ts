import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import type { ErrorRow } from '#gateway/errors/error-table.ts'
import { gatewayErrors } from '#gateway/errors/gateway.ts'
import { instanceErrors } from '#gateway/errors/instance.ts'
import { messagesErrors } from '#gateway/errors/messages-dialect.ts'
import { oauthErrors } from '#gateway/errors/oauth.ts'
import { publicError } from '#gateway/errors/public-error.ts'
import { errorSchemas } from '#gateway/errors/schemas.ts'
import { toConnectError } from '#shared/reasons.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { storeReasons } from '#shared/stores/store-outage.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'

const BY_KEY = { authorization: `Bearer ${TEST_KEYS.workspace}` }
const at = { field: 'session_id', problem: 'Wrong' }

/** What each reason of a service becomes on `/api`: metadata, status, body. */
const SERVICE_REASONS: Record<string, [Record<string, string>, number, object]> = {
  PRINCIPAL_MISSING: [{}, 401, { _tag: 'UnauthorizedError', message: 'Authentication required' }],
  REQUEST_INVALID: [at, 400, { _tag: 'InvalidRequestError', message: 'sessionID: Wrong', field: 'sessionID' }],
  ATTACHMENT_INVALID: [{}, 400, { _tag: 'InvalidRequestError', message: 'M', field: 'files' }],
  LOCATION_INVALID: [{}, 400, { _tag: 'InvalidRequestError', message: 'M', field: 'directory' }],
  INVALID_CURSOR: [{}, 400, { _tag: 'InvalidCursorError', message: 'Invalid cursor' }],
  AGENT_NOT_FOUND: [{ agent_id: 'x' }, 404, { _tag: 'AgentNotFoundError', message: 'M', agentID: 'x' }],
  SESSION_NOT_FOUND: [{ session_id: 's' }, 404, { _tag: 'SessionNotFoundError', message: 'M', sessionID: 's' }],
  MESSAGE_NOT_FOUND: [
    { session_id: 's', message_id: 'm' },
    404,
    { _tag: 'MessageNotFoundError', message: 'M', sessionID: 's', messageID: 'm' },
  ],
  PERMISSION_REQUEST_NOT_FOUND: [
    { request_id: 'p' },
    404,
    { _tag: 'PermissionNotFoundError', message: 'M', requestID: 'p' },
  ],
  LOCATION_NOT_FOUND: [
    { directory: '/d' },
    404,
    { _tag: 'LocationNotFoundError', message: 'M', location: { directory: '/d' } },
  ],
  LOCATION_FORBIDDEN: [
    { directory: '/d' },
    403,
    { _tag: 'LocationPermissionDeniedError', message: 'M', location: { directory: '/d' } },
  ],
  SESSION_EMPTY: [{}, 400, { _tag: 'InvalidRequestError', message: 'M', kind: 'empty_session' }],
  SESSION_EXISTS: [{ session_id: 's' }, 409, { _tag: 'ConflictError', message: 'M', resource: 's' }],
  MESSAGE_EXISTS: [{ message_id: 'm' }, 409, { _tag: 'ConflictError', message: 'M', resource: 'm' }],
  PROMPT_CONFLICT: [{ message_id: 'm' }, 409, { _tag: 'ConflictError', message: 'M', resource: 'm' }],
  INBOX_ITEM_CANCELLED: [{ message_id: 'm' }, 409, { _tag: 'ConflictError', message: 'M', resource: 'm' }],
  INBOX_FULL: [{ session_id: 's' }, 409, { _tag: 'ConflictError', message: 'M', resource: 's' }],
  PEER_UNAVAILABLE: [
    { peer: 'catalog' },
    503,
    { _tag: 'ServiceUnavailableError', message: 'A service is unavailable', service: 'catalog' },
  ],
  STORE_UNAVAILABLE: [
    { problem: 'secret' },
    503,
    { _tag: 'ServiceUnavailableError', message: 'The store is unavailable; try again later', service: 'test' },
  ],
  EVENTS_OVERFLOWED: [
    {},
    503,
    { _tag: 'EventsOverflowedError', message: 'The reader fell behind; resume from the last id', service: 'test' },
  ],
}

test('each reason of a service has its own public error on the instance API', async () => {
  const reasons = Object.fromEntries(
    Object.keys(SERVICE_REASONS).map((reason) => [reason, { code: Code.Unknown, message: 'M' }]),
  )
  let thrown = new Rejection('REQUEST_INVALID')
  await using facade = await openFacade({
    reasons,
    session: {
      getSession: () => {
        throw thrown
      },
    },
  })
  for (const [reason, [metadata, status, body]] of Object.entries(SERVICE_REASONS)) {
    thrown = new Rejection(reason as AnyReason, metadata)
    const answer = await facade.fetch('/api/session/ses_1')
    assert.equal(answer.status, status, reason)
    assert.deepEqual(await answer.json(), body)
    assert.equal(answer.headers.get('retry-after'), status === 503 ? '1' : null, reason)
  }
})

/** When to come back after one of Portico's own limits, in seconds, if the service does not say. */
const OWN_LIMITS: Readonly<Record<string, string>> = { WRONG_KEYS: '60', TOO_MANY_EXCHANGES: '60', RATE_LIMITED: '1' }

test('every 503 has a Retry-After in whole seconds: the one of the service, else one second', () => {
  const families = {
    ...{ instance: instanceErrors, gateway: gatewayErrors, messages: messagesErrors, oauth: oauthErrors },
  }
  for (const [family, { reasons }] of Object.entries(families)) {
    const errors = Object.keys(reasons).map((reason) => new Rejection(reason as AnyReason, { status: '503' }))
    for (const error of [...errors, new ConnectError('gone', Code.Unavailable)]) {
      const { status, headers = [] } = publicError(family as keyof typeof families, error)
      const own = status === 429 ? OWN_LIMITS[error.message] : undefined
      const expected = status === 503 ? ['1'] : own === undefined ? [] : [own]
      assert.deepEqual(valuesOf('retry-after', headers), expected, `${family} ${error.message}`)
    }
    const away = toConnectError(new Rejection('STORE_UNAVAILABLE'), 'any', storeReasons)
    const { status, headers = [] } = publicError(family as keyof typeof families, away)
    assert.deepEqual([status, ...valuesOf('retry-after', headers)], [503, '2'], family)
  }
})

test('a provider that says when to come back is passed on in a form that clients know', () => {
  const retryAfter = (asked: string) => {
    const error = new Rejection('PROVIDER_UNAVAILABLE', { status: '503', retry_after: asked })
    return valuesOf('retry-after', publicError('gateway', error).headers ?? [])
  }
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
  assert.deepEqual([retryAfter('7'), retryAfter('0.2'), retryAfter(date)], [['7'], ['1'], [date]])
  assert.deepEqual([retryAfter('soon'), retryAfter('-3'), retryAfter('')], [['1'], ['1'], ['1']])
})

function valuesOf(name: string, headers: readonly string[]): string[] {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === name)
}

test('an unplanned error of a service is 500 with a reference, and only the log has the cause', async () => {
  await using facade = await openFacade({
    session: {
      getSession: () => {
        throw new Error('the secret cause')
      },
    },
  })
  const answer = await facade.fetch('/api/session/ses_1')
  assert.equal(answer.status, 500)
  const body = (await answer.json()) as { ref: string }
  assert.match(body.ref, /^err_[0-9a-f]{8}$/)
  assert.deepEqual(body, { _tag: 'UnknownError', message: 'Internal server error', ref: body.ref })
  const line = facade.log.find(({ msg }) => msg === 'Internal error')
  assert.equal(line?.ref, body.ref)
  assert.match(JSON.stringify(line), /the secret cause/)
})

test('a service that is not there, or too slow, is 503', async () => {
  let code = Code.Unavailable
  await using facade = await openFacade({
    session: {
      getSession: () => {
        throw new ConnectError('x', code)
      },
    },
  })
  const unavailable = await facade.fetch('/api/session/ses_1')
  assert.equal(unavailable.status, 503)
  const message = 'A service is unavailable'
  const _tag = 'ServiceUnavailableError'
  assert.deepEqual(await unavailable.json(), { _tag, message, service: 'session' })
  code = Code.DeadlineExceeded
  const slow = await facade.fetch('/api/session/ses_1')
  assert.equal(slow.status, 503)
  assert.deepEqual(await slow.json(), { _tag, message: 'The request took too long', service: 'session' })
})

test('an unavailable service is named below /api/v1', async () => {
  let code = Code.Unavailable
  await using facade = await openFacade({
    inference: {
      listModels: () => {
        throw new ConnectError('x', code)
      },
    },
  })
  const get = async () => (await facade.fetch('/api/v1/models', { headers: BY_KEY })).json()
  const unavailable = 'Service temporarily unavailable: the inference service cannot be reached'
  assert.deepEqual(await get(), { error: { code: 503, message: unavailable } })
  code = Code.DeadlineExceeded
  const slow = 'Operation timed out: the inference service took too long to respond'
  assert.deepEqual(await get(), { error: { code: 504, message: slow } })
})

test('an error of an unknown reason reveals nothing of it, in any family', () => {
  const error = new Rejection('NEW_REASON' as AnyReason, { secret: 'x' })
  const instance = publicError('instance', error)
  assert.deepEqual([instance.status, Object.keys(instance.body)], [500, ['_tag', 'message', 'ref']])
  const { ref: _, ...gateway } = publicError('gateway', error)
  assert.deepEqual(gateway, { status: 500, body: { error: { code: 500, message: 'Internal Server Error' } } })
  const oauth = publicError('oauth', new Rejection('constructor' as AnyReason))
  assert.deepEqual(oauth.body, { error: 'server_error', error_description: 'Internal server error' })
})

function rowsOf({ reasons }: { readonly reasons: Readonly<Record<string, ErrorRow>> }) {
  return Object.values(reasons).filter((row) => row !== 'internal')
}

test('a reason that is nowhere declared, or has no row in a table that can meet it, does not compile', () => {
  // @ts-expect-error
  new Rejection('NOWHERE_DECLARED')
  const { LOCATION_NOT_FOUND: _1, ...ofCatalog } = instanceErrors.reasons
  const { PROMPT_CONFLICT: _2, ...ofSession } = instanceErrors.reasons
  const { CREDENTIAL_REFUSED: _3, ...ofIdentity } = gatewayErrors.reasons
  const { PROVIDER_TIMEOUT: _4, ...ofInference } = gatewayErrors.reasons
  const { BODY_TOO_LARGE: _5, ...ofFacade } = gatewayErrors.reasons
  const { NOT_READY: _6, ...ofAnyRequest } = oauthErrors.reasons
  const instance: (typeof instanceErrors)['reasons'][] = [
    // @ts-expect-error
    ofCatalog,
    // @ts-expect-error
    ofSession,
  ]
  const gateway: (typeof gatewayErrors)['reasons'][] = [
    // @ts-expect-error
    ofIdentity,
    // @ts-expect-error
    ofInference,
    // @ts-expect-error
    ofFacade,
  ]
  // @ts-expect-error
  const oauth: (typeof oauthErrors)['reasons'] = ofAnyRequest
  assert.deepEqual([instance.length, gateway.length, typeof oauth], [2, 3, 'object'], 'the compiler refused each')
})

test('every row of every table gives a body of its family, with a status of an error', () => {
  const reason = { domain: 'd', reason: 'R', metadata: {}, message: 'M' }
  for (const row of rowsOf(instanceErrors)) {
    const { status, body } = row(reason)
    assert.ok(status >= 400 && status < 600)
    assert.equal(typeof body._tag, 'string')
    assert.equal(typeof body.message, 'string')
  }
  for (const row of rowsOf(gatewayErrors)) {
    const { status, body } = row(reason)
    const error = body.error as { code: number; message: string }
    assert.equal(error.code, status)
    assert.equal(typeof error.message, 'string')
  }
  for (const row of rowsOf(messagesErrors)) {
    const { status, body } = row(reason)
    assert.ok(status >= 400 && status < 600)
    assert.equal(errorSchemas.messages.safeParse(body).error, undefined)
  }
  for (const row of rowsOf(oauthErrors)) {
    const { body } = row(reason)
    assert.deepEqual(Object.keys(body), ['error', 'error_description'])
  }
})
