import type { DescService } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'

type Handlers = Readonly<Record<string, (input: unknown, context: unknown) => unknown>>
type StreamHandlers = Readonly<Record<string, (input: unknown, context: unknown) => AsyncIterable<unknown>>>

/** The handlers of a service, loaded by the first call of any of them. */
export function lazyHandlers<S extends DescService>(service: S, load: () => Promise<ServiceImpl<S>>): ServiceImpl<S> {
  let loaded: Handlers | undefined
  let loading: Promise<Handlers> | undefined
  const loadOnce = (): Promise<Handlers> => {
    loading ??= load().then(
      (handlers) => {
        loaded = handlers as Handlers
        return loaded
      },
      (error: unknown) => {
        loading = undefined
        throw error
      },
    )
    return loading
  }
  const unary = (name: string) => (input: unknown, context: unknown) =>
    loaded === undefined ? loadOnce().then((all) => all[name]?.(input, context)) : loaded[name]?.(input, context)
  const stream = (name: string) => (input: unknown, context: unknown) =>
    loaded === undefined ? firstStream(loadOnce(), name, input, context) : loaded[name]?.(input, context)
  return Object.fromEntries(
    service.methods.map(({ localName, methodKind }) => [
      localName,
      methodKind === 'server_streaming' ? stream(localName) : unary(localName),
    ]),
  ) as ServiceImpl<S>
}

async function* firstStream(
  loading: Promise<Handlers>,
  name: string,
  input: unknown,
  context: unknown,
): AsyncGenerator<unknown> {
  const handler = ((await loading) as StreamHandlers)[name]
  if (handler !== undefined) yield* handler(input, context)
}
