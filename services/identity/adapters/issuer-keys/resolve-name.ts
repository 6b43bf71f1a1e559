import { lookup, Resolver } from 'node:dns/promises'

/** Resolves a name to IP addresses; rejects if there are none, or if the signal aborts. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>

const RESOLVER = { timeout: 1_000, tries: 2 }

/**
 * Queries DNS, at these servers (`address:port`) or those of the system. The system's own resolver is not used: it
 * occupies a thread for as long as a server is silent, and signatures are verified in the same few threads.
 */
export function byDns(servers?: readonly string[]): ResolveName {
  return async (name, signal) => {
    signal.throwIfAborted()
    const resolver = new Resolver(RESOLVER)
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = (): void => resolver.cancel()
    signal.addEventListener('abort', cancel)
    try {
      const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      const addresses = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      if (addresses.length === 0 && four.status === 'rejected') throw four.reason
      return addresses
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

/**
 * Uses the system's resolver, which also knows its hosts file and search domains: for names that the operator lists.
 */
export const bySystem: ResolveName = async (name, signal) => {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    const answers = await Promise.race([lookup(name, { all: true }), aborted.promise])
    return answers.map(({ address }) => address)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
