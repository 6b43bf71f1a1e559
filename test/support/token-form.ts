import type { RawAnswer } from './raw-http.ts'
import { rawRequest } from './raw-http.ts'

export const TOKEN_PATH = '/api/v1/oauth/token'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** A correct form; not a real token. */
export const TOKEN_FORM = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  federation_policy_id: '0b3f7c1e-5a4d-4e2b-9c8f-1a2b3c4d5e6f',
}

/** A form with other members; undefined ones are left out. */
export function tokenForm(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const members = Object.entries<string | undefined>({ ...TOKEN_FORM, ...changes })
  return new URLSearchParams(members.filter((each): each is [string, string] => each[1] !== undefined)).toString()
}

/** Posts a body to the token endpoint as it is. */
export function postToken(
  url: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  return rawRequest(url, { method: 'POST', path: TOKEN_PATH, headers: { 'content-type': FORM_TYPE, ...headers }, body })
}
