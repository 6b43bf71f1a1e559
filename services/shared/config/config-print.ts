const SECRET_NAME = /(secret|password|passphrase|credential|authorization|token|key)s?$/i
const MASK = '***'

/**
 * Returns a copy of a configuration that may be printed. Texts whose name suggests a secret are masked, and so is
 * everything below such a name, and the credentials in URLs.
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

/** Masks user and password in every URL of a text, also in lists of hosts such as MongoDB's. */
export function maskCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/?#\s]*@/gi, `$1${MASK}@`)
}
