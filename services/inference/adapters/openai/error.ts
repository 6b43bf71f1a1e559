import { statusOf } from '../http/error-body.ts'
import { typeOfWord } from '../http/error-types.ts'
import { objectAt, textAt } from '../http/json.ts'
import { rejectionForStatus } from '../http/provider-errors.ts'

const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({
    rate_limit_exceeded: 429,
    rate_limit_error: 429,
    insufficient_quota: 429,
    invalid_request_error: 400,
    authentication_error: 401,
    permission_denied: 403,
    not_found: 404,
    timeout: 504,
    vector_store_timeout: 504,
  }),
)

/** An error object in a stream: `code` is a status (OpenRouter), or `code` or `type` is a word (OpenAI). */
export function openaiError(providerId: string, error: unknown): Error {
  const members = objectAt(error)
  const message = textAt(members?.message) || textAt(error) || 'It broke off with an error'
  const { code, type } = members ?? {}
  const words = [textAt(code), textAt(type)]
  const [wordStatus = 502] = words.map(statusOfWord).filter((status) => status !== undefined)
  const status = statusOf(code) ?? wordStatus
  return rejectionForStatus(providerId, status, message, { code: words.find((word) => word !== '') ?? '' })
}

function statusOfWord(word: string): number | undefined {
  return STATUSES.get(word) ?? (typeOfWord(word) === undefined ? undefined : 400)
}
