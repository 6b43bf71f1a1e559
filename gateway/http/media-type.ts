const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"'
const PARAMETER = new RegExp(`\\s*;\\s*(?:(${TOKEN})\\s*=\\s*(${TOKEN}|${QUOTED}))?`, 'y')

export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * Whether a content type is this one, in UTF-8. Parameters that nobody knows pass (RFC 9110 section 8.3.1); a `charset`
 * must be UTF-8, each time that it is given.
 */
export function isTypeInUtf8(type: string, contentType: string): boolean {
  // What nearly every client sends.
  if (contentType === type) return true
  const { length } = type
  if (contentType.slice(0, length).toLowerCase() !== type || !/^\s*(?:;|$)/.test(contentType.slice(length)))
    return false
  for (let at = length; at < contentType.length; at = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = at
    const match = PARAMETER.exec(contentType)
    if (match === null) return contentType.slice(at).trim() === ''
    const [, name = '', value = ''] = match
    if (name.toLowerCase() === 'charset' && !/^"?utf-8"?$/i.test(value)) return false
  }
  return true
}
