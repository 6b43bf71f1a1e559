import assert from 'node:assert/strict'
import test from 'node:test'
import { DIALECTS, send } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { chunk, eventsOf, type Json } from '#test/support/responses.ts'

/** What a provider says: its status and code; what a client gets: status and canonical type. */
const WORDS: readonly (readonly [number, string, number, string])[] = [
  [400, 'context_length_exceeded', 400, 'context_length_exceeded'],
  [400, 'max_tokens_exceeded', 400, 'max_tokens_exceeded'],
  [400, 'token_limit_exceeded', 400, 'token_limit_exceeded'],
  [400, 'string_above_max_length', 400, 'string_too_long'],
  [400, 'other', 400, 'invalid_request'],
  [400, 'invalid_prompt', 400, 'invalid_prompt'],
  [400, 'content_policy_violation', 400, 'content_policy_violation'],
  [400, 'invalid_base64_image', 400, 'invalid_image'],
  [413, 'image_too_large', 400, 'image_too_large'],
  [400, 'image_too_small', 400, 'image_too_small'],
  [400, 'unsupported_image_media_type', 400, 'unsupported_image_format'],
  [400, 'failed_to_download_image', 400, 'image_download_failed'],
  [404, 'image_file_not_found', 404, 'image_not_found'],
  [401, 'other', 502, 'provider_unavailable'],
  [402, 'other', 502, 'provider_unavailable'],
  [403, 'other', 403, 'permission_denied'],
  [404, 'other', 404, 'not_found'],
  [408, 'other', 408, 'timeout'],
  [412, 'other', 412, 'precondition_failed'],
  [413, 'other', 413, 'payload_too_large'],
  [422, 'other', 422, 'unprocessable'],
  [429, 'other', 429, 'rate_limit_exceeded'],
  [500, 'other', 502, 'provider_unavailable'],
  [503, 'other', 503, 'provider_overloaded'],
  [529, 'other', 503, 'provider_overloaded'],
]

/** Anthropic's names of the canonical types; the others are invalid requests. */
const TYPES: Readonly<Record<string, string>> = {
  permission_denied: 'permission_error',
  not_found: 'not_found_error',
  image_not_found: 'not_found_error',
  rate_limit_exceeded: 'rate_limit_error',
  provider_overloaded: 'overloaded_error',
  provider_unavailable: 'api_error',
  timeout: 'timeout_error',
}

/** Codes of a failed response; the others are server errors. */
const CODES: Readonly<Record<string, string>> = {
  invalid_request: 'invalid_prompt',
  content_policy_violation: 'image_content_policy_violation',
  rate_limit_exceeded: 'rate_limit_exceeded',
}

function ask(portico: Portico, dialect: string, more: object = {}): Promise<Response> {
  const body = { model: 'up/m', ...DIALECTS[dialect], ...more }
  return send(portico, 'POST', `/api/v1/${dialect}`, body, { key: PORTICO_KEYS.api })
}

test('an error of a provider has its canonical type and status, in each dialect, before and after the first byte', async () => {
  let answer = answers(500, '')
  await using stub = await startStub((response) => answer(response))
  const provider = {
    id: 'up',
    protocol: 'openai',
    baseURL: `${stub.url}/v1`,
    apiKey: 'sk-upstream',
    models: [{ id: 'm' }],
  }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
  for (const [said, code, status, type] of WORDS) {
    const error = { message: 'Because', code, type: code }
    answer = answers(said, { error })
    for (const dialect of Object.keys(DIALECTS)) {
      const refused = await ask(portico, dialect)
      const { error: shown } = (await refused.json()) as Json
      const expected =
        dialect === 'messages'
          ? { type: TYPES[type] ?? 'invalid_request_error', error_type: type }
          : { code: status, error_type: type }
      const { metadata, error_type = metadata?.error_type, ...rest } = shown
      assert.equal(refused.status, status, `${dialect} ${said} ${code}`)
      assert.deepEqual({ [dialect === 'messages' ? 'type' : 'code']: rest.type ?? rest.code, error_type }, expected)
      assert.match(rest.message, said === 408 ? /^Operation timed out: / : /Because/)
    }
    // An event says no status, so only the code counts; a conversation that is too long ends normally.
    if (said !== 400 || /exceeded|length/.test(code)) continue
    const late = code === 'other' ? { ...error, code: 400 } : error
    answer = streams(`${chunk({ role: 'assistant', content: 'Hi' })}data: ${JSON.stringify({ error: late })}\n\n`)
    const { response } = eventsOf(await (await ask(portico, 'responses', { stream: true })).text()).at(-1) ?? {}
    assert.deepEqual(
      [response?.status, response?.error_type, response?.error.code],
      ['failed', type, CODES[type] ?? 'server_error'],
    )
  }
})
