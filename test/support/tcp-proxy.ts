import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Which way bytes go. */
type Direction = 'to the peer' | 'from the peer'

/** A TCP proxy on the loopback whose packets can vanish. */
export interface TcpProxy extends AsyncDisposable {
  readonly url: string
  /** How many connections were made to it. */
  readonly connections: number
  /** From now on nothing gets through in this direction, on old and new connections, and nobody is notified. */
  swallow(...directions: Direction[]): void
  /** Lets new connections through; those that lost bytes stay silent. */
  mend(): void
}

/** Starts a proxy in front of a server. */
export async function startProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let swallowed: readonly Direction[] = []
  let connections = 0
  const server = createServer((client) => {
    connections += 1
    const upstream = connect(Number(port), hostname)
    const lost = new Set<Direction>()
    const forward = (from: Socket, to: Socket, direction: Direction): void => {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('error', () => {})
      from.on('data', (bytes) => {
        if (swallowed.includes(direction)) lost.add(direction)
        if (!lost.has(direction)) to.write(bytes)
      })
      from.on('close', () => {
        sockets.delete(from)
        if (!lost.has(direction)) to.destroy()
      })
    }
    forward(client, upstream, 'to the peer')
    forward(upstream, client, 'from the peer')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections
    },
    swallow(...directions) {
      swallowed = directions
    },
    mend() {
      swallowed = []
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
