import { objectAt, textAt } from '../http/json.ts'
import { rejectionForStatus } from '../http/provider-errors.ts'

const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({
    rate_limit_exceeded: 429,
    rate_limit_error: 429,
    insufficient_quota: 429,
    invalid_request_error: 400,
    invalid_prompt: 400,
    context_length_exceeded: 400,
    string_above_max_length: 400,
    authentication_error: 401,
    permission_denied: 403,
    not_found: 404,
    timeout: 504,
  }),
)

/** An error object in a stream: `code` is a status (OpenRouter), or `code` or `type` is a word (OpenAI). */
export function openaiError(providerId: string, error: unknown): Error {
  const given = objectAt(error)
  const message = textAt(given?.message) || textAt(error) || 'It broke off with an error'
  const { code, type } = given ?? {}
  const number = Number(code)
  const status =
    number >= 400 && number <= 599 ? number : (STATUSES.get(textAt(code)) ?? STATUSES.get(textAt(type)) ?? 502)
  return rejectionForStatus(providerId, status, message, { code: textAt(code) || textAt(type) })
}
