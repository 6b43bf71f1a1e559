/** Calls a method of a port with these arguments. */
type PortCall = (words: unknown[]) => unknown

/**
 * Wraps a port: each method becomes what `wrap` makes of it, once. Symbols (disposal) and protocol methods of Node and
 * JavaScript are not wrapped.
 */
export function wrapPort<P extends object>(
  port: P,
  wrap: (name: string, call: PortCall) => (...words: unknown[]) => unknown,
): P {
  const wrapped = new Map<string, unknown>()
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      if (typeof key === 'symbol' || key === 'constructor') return member.bind(target)
      let method = wrapped.get(key)
      if (method === undefined) {
        method = wrap(key, (words) => Reflect.apply(member, target, words))
        wrapped.set(key, method)
      }
      return method
    },
  })
}
