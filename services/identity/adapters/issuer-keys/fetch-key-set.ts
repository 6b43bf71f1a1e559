import type { IssuerSettings } from '#gen/portico/identity/v1/federation_pb.js'
import { addressProblem } from '#services/identity/domain/issuer-keys/address.ts'
import { type KeySet, readKeySet } from '#services/identity/domain/issuer-keys/key-set.ts'
import { isObject } from '#shared/json.ts'
import { type DestinationRules, FetchProblem } from './destination.ts'
import { fetchJson, quoteUrl } from './fetch-json.ts'

export interface FetchedKeySet {
  readonly set: KeySet
  /** How long they may be cached, according to the headers; undefined: they do not say. */
  readonly maxAgeSeconds: number | undefined
}

const MOST_DISCOVERY_BYTES = 64 * 1_024
const MOST_KEY_SET_BYTES = 256 * 1_024

/**
 * Fetches the keys of an issuer from its URL, or from the one in its discovery document (OpenID Connect Discovery 1.0,
 * section 4). Throws FetchProblem, or the reason of the signal.
 */
export async function fetchKeySet(
  { issuerUrl, keySource }: Pick<IssuerSettings, 'issuerUrl' | 'keySource'>,
  rules: DestinationRules,
  signal: AbortSignal,
): Promise<FetchedKeySet> {
  const address = keySource.case === 'jwksUrl' ? keySource.value : await discover(issuerUrl, rules, signal)
  const url = checked(address, 'key set', rules)
  const { value, maxAgeSeconds } = await fetchJson(url, { rules, mostBytes: MOST_KEY_SET_BYTES, signal })
  const set = readKeySet(value)
  if ('problem' in set) throw new FetchProblem(`${quoteUrl(url)}: the key set ${set.problem}`)
  return { set, maxAgeSeconds }
}

async function discover(issuerUrl: string, rules: DestinationRules, signal: AbortSignal): Promise<string> {
  checked(issuerUrl, 'issuer', rules)
  // The issuer's path is kept, and exactly one slash separates the two.
  const url = new URL(`${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const { value } = await fetchJson(url, { rules, mostBytes: MOST_DISCOVERY_BYTES, signal })
  const document = isObject(value) ? value : {}
  // Otherwise, whoever may write below one path of a host could speak for an issuer at another one.
  if (document.issuer !== issuerUrl) throw new FetchProblem(`${quoteUrl(url)}: it is the document of another issuer`)
  if (typeof document.jwks_uri !== 'string') throw new FetchProblem(`${quoteUrl(url)}: it has no jwks_uri`)
  return document.jwks_uri
}

/** Parses an address, and checks it again although it was checked when saved: the settings may permit less by now. */
function checked(address: string, kind: 'issuer' | 'key set', { networks, ownOrigin }: DestinationRules): URL {
  const problem = addressProblem(address, kind, networks, ownOrigin)
  if (problem !== undefined) throw new FetchProblem(`the address of the ${kind} ${problem}`)
  return new URL(address)
}
