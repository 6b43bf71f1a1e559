import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Client, type ClientOptions, credentials, Metadata } from '@grpc/grpc-js'
import type { CallContext } from '#shared/rpc/call-context.ts'
import { headersOfContext, SECRET_HEADER } from '#shared/rpc/call-metadata.ts'
import { testSecret } from '#test/support/transports.ts'

/** A stock gRPC client as another language would have it: it has the descriptors and no code of this project. */
export interface GrpcJsClient extends Disposable {
  /** Makes a unary call; rejects with grpc-js's ServiceError. */
  unary<M extends DescMethodUnary>(method: M, input: MessageInitShape<M['input']>): Promise<MessageShape<M['output']>>
  /** Makes a streaming call; leaving it cancels it. */
  stream<M extends DescMethodServerStreaming>(
    method: M,
    input: MessageInitShape<M['input']>,
  ): AsyncIterable<MessageShape<M['output']>>
}

/** Connects `@grpc/grpc-js` to a server of `serve`, with the tests' secret and the given principal and request id. */
export function createGrpcJsClient(url: string, context: CallContext = {}, options: ClientOptions = {}): GrpcJsClient {
  const client = new Client(new URL(url).host, credentials.createInsecure(), options)
  const metadata = Metadata.fromHttp2Headers({ [SECRET_HEADER]: testSecret, ...headersOfContext(context) })
  const path = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`
  const encode = (method: DescMethod) => (message: unknown) => Buffer.from(toBinary(method.input, message as never))
  const decode = (method: DescMethod) => (bytes: Buffer) => fromBinary(method.output, bytes) as never
  return {
    unary: (method, input) =>
      new Promise((resolve, reject) => {
        const message = create(method.input, input)
        client.makeUnaryRequest(path(method), encode(method), decode(method), message, metadata, (error, answer) => {
          if (error === null && answer !== undefined) resolve(answer)
          else reject(error)
        })
      }),
    async *stream(method, input) {
      const message = create(method.input, input)
      const call = client.makeServerStreamRequest(path(method), encode(method), decode(method), message, metadata)
      // Cancelling a call that has ended does nothing; one that was abandoned would go on.
      call.on('error', () => {})
      try {
        yield* call
      } finally {
        call.cancel()
      }
    },
    [Symbol.dispose]: () => client.close(),
  }
}
