import { BlockList, isIP } from 'node:net'
import type { FederationNetwork, PermittedNetworks } from '#services/identity/domain/issuer-keys/address.ts'

/**
 * IPv4 networks that are not part of the public internet, or not one place in it (IANA special-purpose registry,
 * multicast, reserved).
 */
const SPECIAL_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
]
/** The part of IPv6 that is the public internet; embedded IPv4, link-local and unique local addresses are outside. */
const GLOBAL_IPV6 = ['2000::/3']
/** Exceptions within it: protocol assignments including Teredo, 6to4, documentation. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

/** Which IP addresses may be connected to: public ones at port 443, and those that the operator permits at any port. */
export class Networks implements PermittedNetworks {
  readonly any: boolean
  readonly #permitted: readonly { readonly network: FederationNetwork; readonly list: BlockList }[]
  readonly #special = listOf([...SPECIAL_IPV4, ...SPECIAL_IPV6])
  readonly #global = listOf(GLOBAL_IPV6)

  constructor(permitted: readonly FederationNetwork[]) {
    this.any = permitted.length > 0
    this.#permitted = permitted.map((network) => ({ network, list: listOf(network.networks) }))
  }

  permit(address: string): boolean {
    return this.permitted(address) !== undefined
  }

  /** The first of the operator's networks that contains an address. */
  permitted(address: string): FederationNetwork | undefined {
    return this.#permitted.find(({ list }) => list.check(address, familyOf(address)))?.network
  }

  /** Whether the operator lists a host, written as in a URL. */
  lists(host: string): boolean {
    return this.#permitted.some(({ network }) => Object.hasOwn(network.hosts, host))
  }

  /** Whether an address belongs to the public internet. */
  isPublic(address: string): boolean {
    const family = familyOf(address)
    if (family === 'ipv6' && !this.#global.check(address, family)) return false
    return !this.#special.check(address, family)
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}
