const INVALID = /^Invalid request parameters: ([^\s:]+): /

/** The body of an error of `/api/v1`, which names the member that is wrong twice: in words, and as `param`. */
export function gatewayError(code: number, message: string): { readonly error: object } {
  const param = INVALID.exec(message)?.[1]
  return { error: { code, message, ...(param === undefined ? {} : { param }) } }
}
