/** Providers' words for what is wrong with a request, by the canonical type that they stand for. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  context_length_exceeded: ['context_length_exceeded', 'exceed_context_size_error', 'model_context_window_exceeded'],
  max_tokens_exceeded: ['max_tokens_exceeded'],
  token_limit_exceeded: ['token_limit_exceeded'],
  string_too_long: ['string_too_long', 'string_above_max_length'],
  invalid_prompt: ['invalid_prompt'],
  content_policy_violation: [
    ...['content_policy_violation', 'content_filter', 'image_content_policy_violation', 'bio_policy', 'cyber_policy'],
    ...['moderation_blocked', 'responsible_ai_policy_violation'],
  ],
  invalid_image: [
    ...['invalid_image', 'invalid_base64_image', 'invalid_image_url', 'image_parse_error', 'empty_image_file'],
    'invalid_image_mode',
  ],
  image_too_large: ['image_too_large', 'image_file_too_large'],
  image_too_small: ['image_too_small'],
  unsupported_image_format: ['unsupported_image_format', 'invalid_image_format', 'unsupported_image_media_type'],
  image_download_failed: ['image_download_failed', 'failed_to_download_image'],
  image_not_found: ['image_not_found', 'image_file_not_found'],
}
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(WORDS).flatMap(([type, words]) => words.map((word) => [word, type])),
)

/** How providers without an error code say that a conversation is too long. */
const OVERFLOW_WORDS =
  /context (length|window|size|limit)|maximum prompt length|(prompt|input) is too long|input token count.{0,200}exceeds|reduce the length of the (messages|prompt|input)/i

/** The statuses with which providers refuse a request because of its content. */
const STATUSES: ReadonlySet<number> = new Set([400, 404, 413, 422])

/** Types of errors about conversations that do not fit into a model. */
const OVERFLOWS: ReadonlySet<string | undefined> = new Set([
  ...['context_length_exceeded', 'max_tokens_exceeded', 'token_limit_exceeded', 'string_too_long'],
])

/** The type of a provider's error code; undefined: it says no more than the status. */
export function typeOfWord(word: string): string | undefined {
  return TYPES.get(word)
}

/**
 * What a provider found wrong with a request, by its error code or message; undefined: they say no more than the
 * status.
 */
export function errorTypeOf(status: number, word: string, message: string): string | undefined {
  if (!STATUSES.has(status)) return undefined
  return typeOfWord(word) ?? (status !== 404 && OVERFLOW_WORDS.test(message) ? 'context_length_exceeded' : undefined)
}

/** Whether a type means that a conversation does not fit into the model. */
export function isOverflowType(type: string | undefined): boolean {
  return OVERFLOWS.has(type)
}
