import { type DescFile, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code } from '@connectrpc/connect'
import { ServerReflection, type ServerReflectionRequest } from '#gen/grpc/reflection/v1/reflection_pb.js'
import { route, type ServiceRoute } from '#shared/rpc/routes.ts'

/**
 * The grpc.reflection.v1 service, which gives tools such as grpcurl and `buf curl` the schemas of the given services.
 */
export function createReflection(services: readonly ServiceRoute[]): ServiceRoute {
  const names = services.map(({ service }) => service.typeName).sort()
  const files = new Map<string, DescFile>()
  for (const { service } of services) collect(service.file, files)
  const bySymbol = new Map([...files.values()].flatMap((file) => symbolsOf(file).map((symbol) => [symbol, file])))

  const answer = (request: ServerReflectionRequest['messageRequest']) => {
    switch (request.case) {
      case 'listServices':
        return { case: 'listServicesResponse' as const, value: { service: names.map((name) => ({ name })) } }
      case 'fileByFilename':
        return fileAnswer(files.get(request.value))
      case 'fileContainingSymbol':
        return fileAnswer(bySymbol.get(request.value))
      default:
        return fileAnswer(undefined)
    }
  }
  return route(ServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(request.messageRequest) }
      }
    },
  })
}

function fileAnswer(file: DescFile | undefined) {
  if (file === undefined) {
    const value = { errorCode: Code.NotFound, errorMessage: 'Not found' }
    return { case: 'errorResponse' as const, value }
  }
  const needed = new Map<string, DescFile>()
  collect(file, needed)
  const fileDescriptorProto = [...needed.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto))
  return { case: 'fileDescriptorResponse' as const, value: { fileDescriptorProto } }
}

/** Adds a file and everything that it imports, the file itself first. */
function collect(file: DescFile, into: Map<string, DescFile>): void {
  if (into.has(file.proto.name)) return
  into.set(file.proto.name, file)
  for (const dependency of file.dependencies) collect(dependency, into)
}

function symbolsOf(file: DescFile): string[] {
  const methods = file.services.flatMap(({ methods, typeName }) => methods.map(({ name }) => `${typeName}.${name}`))
  const nested = (messages: DescFile['messages']): string[] =>
    messages.flatMap((message) => [
      message.typeName,
      ...message.nestedEnums.map(({ typeName }) => typeName),
      ...nested(message.nestedMessages),
    ])
  const named = [...file.services, ...file.enums, ...file.extensions].map(({ typeName }) => typeName)
  return [...named, ...methods, ...nested(file.messages)]
}
