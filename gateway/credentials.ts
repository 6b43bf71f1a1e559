import type { PrincipalKind } from '#shared/rpc/call-context.ts'

/** Kinds of credentials: a kind of key, an access token or, on `/api`, access from the machine itself. */
export type Credential = PrincipalKind | 'access-token'

/** The credentials that an operation accepts. */
export type Credentials = readonly Credential[]

/** None is needed. */
export const ANYBODY: Credentials = []
/** Of `/api`; which of them are accepted depends on `PORTICO_AUTH`. */
export const OF_SESSIONS: Credentials = ['local-operator', 'workspace', 'personal']
/** Of `/api/v1`, where keys are used; an access token is used like the workspace key that it was issued for. */
export const OF_USERS: Credentials = ['workspace', 'personal', 'access-token']
/** Of `/api/v1`, where any key may look something up. */
export const OF_KEYS: Credentials = [...OF_USERS, 'management']
/** Of `/api/v1`, where an organization is managed. */
export const OF_MANAGERS: Credentials = ['management']

const BY_PATH: readonly (readonly [RegExp, Credentials])[] = [
  [/^\/(?!api\/)|^\/api\/v1\/oauth\//, ANYBODY],
  [/^\/api\/(?!v1\/)/, OF_SESSIONS],
  [/^\/api\/v1\/(?:organizations|keys|activity|credits)\b/, OF_MANAGERS],
  [/^\/api\/v1\/(?:responses|chat|messages)\b/, OF_USERS],
]

/** The credentials that an operation accepts if it names no others. */
export function credentialsOf(path: string): Credentials {
  return BY_PATH.find(([pattern]) => pattern.test(path))?.[1] ?? OF_KEYS
}

/**
 * Whether a bearer credential has the form of an access token: three parts in base64url, the first of which is a JSON
 * object.
 */
export function isAccessToken(credential: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(credential)
}
