const SECRET_NAME = /(secret|password|passphrase|credential|authorization|token|key)s?$/i
const MASK = '***'

/**
 * A copy of a configuration that may be printed: text named like a secret is masked, in lists and maps below such a name
 * too, and so are user and password inside URLs.
 */
export function maskSecrets(value: unknown, hidden = false): unknown {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (Array.isArray(value) || value instanceof Set) return [...value].map((member) => maskSecrets(member, hidden))
  if (typeof value === 'object') {
    const masked = ([name, member]: [string, unknown]) => [name, maskSecrets(member, hidden || SECRET_NAME.test(name))]
    return Object.fromEntries(Object.entries(value).map((entry) => masked(entry)))
  }
  if (hidden) return MASK
  return typeof value === 'string' ? maskCredentials(value) : value
}

/** Text with the user and password of every URL in it masked, also those of lists of hosts as MongoDB has them. */
export function maskCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/?#\s]*@/gi, `$1${MASK}@`)
}
