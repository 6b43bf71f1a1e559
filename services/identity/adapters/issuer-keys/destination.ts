import { isIP } from 'node:net'
import type { FederationNetwork } from '#services/identity/domain/issuer-keys/address.ts'
import type { Networks } from './networks.ts'
import type { ResolveName } from './resolve-name.ts'

/** Why keys could not be fetched: one line for admins, which repeats nothing of what was fetched. */
export class FetchProblem extends Error {
  override readonly name = 'FetchProblem'
}

/** Where to connect: addresses that were checked, all of the public internet or all of one network. */
export interface Destination {
  readonly addresses: readonly string[]
  /** Undefined: the public internet. */
  readonly network: FederationNetwork | undefined
}

export interface DestinationRules {
  readonly networks: Networks
  /** The origin that our own tokens name as their issuer. */
  readonly ownOrigin: string | undefined
  readonly resolveByDns: ResolveName
  /** For the hosts that the operator lists. */
  readonly resolveBySystem: ResolveName
}

/** Maximum number of addresses of a name that are checked. */
const MOST_ADDRESSES = 16

/**
 * Resolves a URL, and refuses it unless each of its addresses is permitted. The connection must use these addresses,
 * since a name that is resolved again may lead elsewhere. Throws FetchProblem.
 */
export async function destinationOf(url: URL, rules: DestinationRules, signal: AbortSignal): Promise<Destination> {
  const { networks } = rules
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const listed = networks.lists(url.host)
  const resolve = listed ? rules.resolveBySystem : rules.resolveByDns
  const addresses = isIP(host) === 0 ? await resolved(host, resolve, signal) : [host]
  const [first, ...others] = new Set(addresses.map((address) => placeOf(address, url, networks)))
  if (first === undefined || first === 'forbidden' || others.length > 0) {
    throw new FetchProblem(`${url.host} has an address that issuers may not have`)
  }
  return { addresses, network: first === 'public' ? undefined : first }
}

function placeOf(address: string, url: URL, networks: Networks): FederationNetwork | 'public' | 'forbidden' {
  const permitted = networks.permitted(address)
  if (permitted !== undefined) return permitted
  return url.port === '' && networks.isPublic(address) ? 'public' : 'forbidden'
}

async function resolved(name: string, resolve: ResolveName, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return (await resolve(name, signal)).slice(0, MOST_ADDRESSES)
  } catch (error) {
    signal.throwIfAborted()
    throw new FetchProblem(`${name} cannot be resolved${codeOf(error)}`)
  }
}

/** The code of a system error, as the end of a sentence; empty if it has none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? ` (${code})` : ''
}
