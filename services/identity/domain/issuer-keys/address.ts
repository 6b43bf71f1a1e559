/** What the operator permits beyond public addresses. */
export interface PermittedNetworks {
  readonly any: boolean
  /** Whether one of them contains an IP address, which is written without brackets. */
  permit(address: string): boolean
}

/** What an address is saved as. */
export type AddressKind = 'issuer' | 'key set'

/** Networks beyond the public internet in which the operator permits issuers. */
export interface FederationNetwork {
  /** In CIDR form. */
  readonly networks: readonly string[]
  /** PEM file of the authorities that are trusted there instead of the public ones; undefined: the public ones. */
  readonly caFile?: string | undefined
  /** Hosts in it, written as in URLs (`name`, or `name:port` if not 443), which are resolved by the system. */
  readonly hosts: Readonly<Record<string, FederationHost>>
}

export interface FederationHost {
  /** File with the bearer token that a Kubernetes API server requires before it shows its keys. */
  readonly tokenFile?: string | undefined
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/

/**
 * Why an address cannot be that of an issuer or of a key set, as far as its text shows; completes a sentence that
 * begins with its name. Undefined: it can. `own`: the origin that our own tokens name as their issuer. The addresses
 * that a name resolves to are checked when connecting.
 */
export function addressProblem(
  text: string,
  kind: AddressKind,
  networks: PermittedNetworks,
  own: string | undefined,
): string | undefined {
  if (!text.startsWith('https://')) return 'must begin with https://'
  // A URL parser drops or converts such characters, so that it reads another address than a person does.
  if (!/^[!-[\]-~]+$/.test(text)) return 'must be visible ASCII characters without a backslash'
  const url = URL.parse(text)
  if (url === null) return 'must be a URL'
  if (text.includes('#')) return 'must have no fragment'
  if (kind === 'issuer' && text.includes('?')) return 'must have no query'
  const [authority = ''] = text.slice('https://'.length).split(/[/?]/, 1)
  if (authority.includes('@')) return 'must have no user name or password'
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority) ?? []
  // The parser turns 127.1 and 0x7f000001 into 127.0.0.1, and %6c into l.
  if (host.toLowerCase() !== url.hostname) return 'must spell its host plainly'
  const ip = host.startsWith('[') ? host.slice(1, -1) : IPV4.test(host) ? host : undefined
  if (ip === undefined && !HOST.test(url.hostname)) return 'must name a host'
  if (ip !== undefined && !networks.permit(ip)) return 'must name a host, not an IP address'
  if (port !== undefined && port !== '443' && !networks.any) {
    return 'must use port 443, unless PORTICO_FEDERATION_NETWORKS permits its network'
  }
  if (own !== undefined && url.origin === URL.parse(own)?.origin) return 'must not be an address of this server'
  return undefined
}
