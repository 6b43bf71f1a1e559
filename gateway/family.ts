/**
 * Which public interface a request belongs to; it decides how errors look. `messages` is the part of the gateway that
 * speaks as Anthropic's API.
 */
export type Family = 'instance' | 'gateway' | 'messages' | 'oauth'

/** The family of a path, for the type checker: the same as {@link familyOf}. */
export type FamilyOf<Path extends string> = Path extends `/api/v1/messages${string}`
  ? 'messages'
  : Path extends '/api/v1/oauth/token' | '/.well-known/oauth-authorization-server'
    ? 'oauth'
    : Path extends `/api/v1/${string}`
      ? 'gateway'
      : 'instance'

const MESSAGES = /^(?:\/api)?(?:\/v1)?\/messages(?:$|[/?])/
const WITHOUT_VERSION = /^(?:\/api)?\/(?:chat\/completions|completions|embeddings|messages|models|responses)(?:$|[/?])/
const MODELS = /^(?:\/api)?\/v1\/models(?:$|\/)/

/** Where an operation of `/api/v1` is served as well: without the `/api`. Undefined: nowhere else. */
export function secondPath(path: string): string | undefined {
  return path.startsWith('/api/v1/') ? path.slice(4) : undefined
}

/**
 * The family of a path; what lies outside of `/api/v1` and `/v1` belongs to the instance API, except what clients of
 * the gateway call whose base URL is wrong. The key set is no part of OAuth: whoever verifies access tokens reads it as
 * the other lists of `/api/v1`.
 */
export function familyOf(path: string): Family {
  if (/^\/\.well-known\/oauth-authorization-server(?:$|\?)/.test(path)) return 'oauth'
  if (MESSAGES.test(path)) return 'messages'
  const start = path.startsWith('/api/v1') ? 7 : path.startsWith('/v1') ? 3 : 0
  if (start === 0) return WITHOUT_VERSION.test(path) ? 'gateway' : 'instance'
  const below = path.slice(start)
  if (below.startsWith('/oauth/') && !/^\/oauth\/jwks(?:$|\?)/.test(below)) return 'oauth'
  return below === '' || below[0] === '/' || below[0] === '?' ? 'gateway' : 'instance'
}

/** Whether a path is below `/v1`, where OpenAI's clients look for what is below `/api/v1`. */
export function isAtV1(path: string): boolean {
  return path.startsWith('/v1/')
}

/** What is wrong with the base URL of a client that calls a path, if anything. */
export function baseUrlProblem(path: string): string | undefined {
  if (/^(?:\/api)?\/v1\/v1(?:$|\/)/.test(path)) return 'the base URL ends in /v1, and the client adds another /v1'
  return WITHOUT_VERSION.test(path) ? 'the base URL must end in /api/v1 or /v1' : undefined
}

/** Whether Anthropic's clients call a path, with a header of their own for the key. */
export function isAnthropics(family: Family, path: string): boolean {
  return family === 'messages' || MODELS.test(path)
}
