import type { Transport } from '@connectrpc/connect'

const services = new WeakMap<object, string>()

/** Notes that it was the call of a service that failed with an error. */
export function noteService(error: unknown, name: string): void {
  if (typeof error === 'object' && error !== null) services.set(error, name)
}

/** The service whose call failed with an error; undefined: the facade failed by itself. */
export function calledService(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? services.get(error) : undefined
}

/** A transport whose failed calls are known by the name of their service. Of a stream only its opening is. */
export function namedTransport(name: string, transport: Transport): Transport {
  const named = (error: unknown): never => {
    noteService(error, name)
    throw error
  }
  return {
    ...transport,
    unary: (...call) => transport.unary(...call).catch(named),
    stream: (...call) => transport.stream(...call).catch(named),
  }
}
