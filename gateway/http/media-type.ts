const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"'
const PARAMETER = new RegExp(`\\s*;\\s*(?:(${TOKEN})\\s*=\\s*(${TOKEN}|${QUOTED}))?`, 'y')

/**
 * Whether a content type is JSON in UTF-8. Parameters that nobody knows pass (RFC 9110 section 8.3.1); a `charset` must be
 * UTF-8, each time that it is given.
 */
export function isJsonType(contentType: string): boolean {
  // What nearly every client sends.
  if (contentType === 'application/json') return true
  const type = /^application\/json(?=\s*(?:;|$))/i.exec(contentType)?.[0]
  if (type === undefined) return false
  for (let at = type.length; at < contentType.length; at = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = at
    const match = PARAMETER.exec(contentType)
    if (match === null) return contentType.slice(at).trim() === ''
    const [, name = '', value = ''] = match
    if (name.toLowerCase() === 'charset' && !/^"?utf-8"?$/i.test(value)) return false
  }
  return true
}
