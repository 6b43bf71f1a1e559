const INVALID = /^Invalid request parameters: ([^\s:]+): /

/** The body of an error of `/api/v1`, which names the wrong member twice: in words, and as `param`. */
export function gatewayError(code: number, message: string): { readonly error: object } {
  const param = INVALID.exec(message)?.[1]
  return { error: { code, message, ...(param === undefined ? {} : { param }) } }
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication',
  403: 'permission_denied',
  404: 'not_found',
  413: 'payload_too_large',
}

/** The body of an error of an operation that generates, which has a type. */
export function generationError(code: number, message: string): { readonly error: object } {
  const { error } = gatewayError(code, message)
  return { error: { ...error, metadata: { error_type: TYPES[code] ?? 'invalid_request' } } }
}
