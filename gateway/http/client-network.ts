import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4 } from 'node:net'

/** The network of an IPv6 address within which its holder chooses freely. */
const OWN_GROUPS = 4

/** Determines the client network of a request, by which wrong keys, token exchanges and so on are counted. */
export class ClientNetworks {
  readonly #proxies = new BlockList()

  /** `proxies` are addresses and networks as {@link isNetwork} has them. */
  constructor(proxies: readonly string[]) {
    for (const proxy of proxies) {
      const { address, bits, type } = networkIn(proxy)
      this.#proxies.addSubnet(address, bits, type)
    }
  }

  /**
   * The network of one client: its IPv4 address, or the first 64 bits of its IPv6 address. The client is the peer of
   * the connection or, behind trusted proxies, the right-most address of `X-Forwarded-For` that is not one of theirs;
   * anybody could have written what stands left of it. An entry that is not an address, which a proxy writes for a
   * client that it does not know, counts as the proxy.
   */
  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    let client = bare(socket.remoteAddress ?? '')
    if (this.#isProxy(client)) {
      const forwarded = String(headers['x-forwarded-for'] ?? '')
      for (let end = forwarded.length; end > 0; ) {
        const comma = forwarded.lastIndexOf(',', end - 1)
        const address = addressIn(forwarded.slice(comma + 1, end).trim())
        if (address === undefined) break
        client = address
        if (!this.#isProxy(client)) break
        end = comma
      }
    }
    return networkOf(client)
  }

  #isProxy(address: string): boolean {
    return address !== '' && this.#proxies.check(address, typeOf(address))
  }
}

/** Whether a text is an address, or a network such as `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return most >= 0 && more.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
}

function networkIn(text: string) {
  const [address = '', bits] = text.split('/')
  const type = typeOf(address)
  return { address, type, bits: Number(bits ?? (type === 'ipv4' ? 32 : 128)) }
}

function typeOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

/** The address of an entry of `X-Forwarded-For`, which some proxies write with a port. */
function addressIn(entry: string): string | undefined {
  const text = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? entry.replace(/^([\d.]+):\d{1,5}$/, '$1')
  return isIP(text) === 0 ? undefined : bare(text)
}

/** An address without its zone; an IPv4-mapped one (`::ffff:10.0.0.1`) as the IPv4 address. */
function bare(address: string): string {
  if (address === '' || isIPv4(address)) return address
  const groups = groupsOf(address)
  const [first = 0, second = 0] = groups.slice(-2)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!mapped) return address.replace(/%.*$/, '')
  return [first >> 8, first & 255, second >> 8, second & 255].join('.')
}

function networkOf(address: string): string {
  if (address === '' || isIPv4(address)) return address
  const own = groupsOf(address).slice(0, OWN_GROUPS)
  return `${own.map((group) => group.toString(16)).join(':')}::/64`
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const hexadecimal = address.replace(/%.*$/, '').replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [head = '', tail] = hexadecimal.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  // `::` stands for the zeros that are missing from the eight groups.
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16))
}
