import assert from 'node:assert/strict'
import test from 'node:test'
import { createResponse } from '#gateway/responses/operations.ts'
import { reasons } from '#services/inference/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { eventsOf } from '#test/support/responses.ts'

const provider = { provider: 'openai', message: 'Because' }
const invalid = 'Invalid request parameters'
const typed = (error_type: string) => ({ metadata: { provider_name: 'openai', error_type } })

/** Each declared error: what the service reports, and what a client gets before and after the first byte. */
const ERRORS: Readonly<
  Record<string, { said: Record<string, string>; error: object; late: readonly [string, string] }>
> = {
  MODEL_NOT_FOUND: {
    said: { model: 'm' },
    error: {
      code: 400,
      message: `${invalid}: model: The model "m" does not exist; GET /api/v1/models lists all models`,
      param: 'model',
    },
    late: ['invalid_prompt', 'invalid_request'],
  },
  REQUEST_INVALID: {
    said: { field: 'messages', problem: 'must not be empty' },
    error: { code: 400, message: `${invalid}: input: must not be empty`, param: 'input' },
    late: ['invalid_prompt', 'invalid_request'],
  },
  REQUEST_DUPLICATE: {
    said: { request_id: 'r' },
    error: { code: 409, message: 'Resource conflict. Please try again later.' },
    late: ['invalid_prompt', 'invalid_request'],
  },
  PROVIDER_REFUSED: {
    said: { ...provider, status: '422' },
    error: { code: 422, message: 'Invalid argument: openai refused the request: Because', ...typed('unprocessable') },
    late: ['server_error', 'unprocessable'],
  },
  PROVIDER_RATE_LIMITED: {
    said: { ...provider, status: '429' },
    error: {
      code: 429,
      message: 'Rate limit exceeded: openai is rate limiting requests: Because',
      ...typed('rate_limit_exceeded'),
    },
    late: ['rate_limit_exceeded', 'rate_limit_exceeded'],
  },
  PROVIDER_UNAVAILABLE: {
    said: { ...provider, status: '529' },
    error: {
      code: 503,
      message: 'Provider overloaded: openai is unavailable: Because',
      ...typed('provider_overloaded'),
    },
    late: ['server_error', 'provider_overloaded'],
  },
  PROVIDER_TIMEOUT: {
    said: { provider: 'openai' },
    error: { code: 408, message: 'Operation timed out: openai did not answer in time', ...typed('timeout') },
    late: ['server_error', 'timeout'],
  },
}

const REASONS = createResponse.errors.filter((reason) => reason in ERRORS)

test('each of the tested errors is declared', () => {
  assert.equal(REASONS.length, Object.keys(ERRORS).length)
})

for (const reason of REASONS) {
  test(`${reason} is the same for JSON and for a stream that has not begun, and ends one that has`, async () => {
    const { said, error, late } = ERRORS[reason] ?? assert.fail()
    const reject = (): never => {
      throw new Rejection(reason, said)
    }
    let begins = false
    await using facade = await openFacade({
      reasons,
      inference: {
        generate: reject,
        async *streamGenerate() {
          if (begins) yield { events: [{ event: { case: 'started', value: { model: 'm', providerId: 'openai' } } }] }
          reject()
        },
      },
    })
    const post = (stream: boolean): Promise<Response> =>
      facade.fetch('/api/v1/responses', {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEYS.workspace}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input: 'x', stream }),
      })
    for (const stream of [false, true]) {
      const answer = await post(stream)
      assert.deepEqual(await answer.json(), { error: { metadata: { error_type: late[1] }, ...error } })
      assert.equal(answer.status, (error as { code: number }).code)
    }
    begins = true
    const { response } = eventsOf(await (await post(true)).text()).at(-1) ?? assert.fail()
    const { message } = error as { message: string }
    const [code, error_type] = late
    assert.equal(response.status, 'failed')
    assert.deepEqual([response.error, response.error_type], [{ code, message }, error_type])
  })
}
