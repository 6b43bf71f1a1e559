import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/** A span as a collector receives it. */
export interface CollectedSpan {
  /** `service.name` of the process that it comes from. */
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  /** Empty: it has no parent. */
  readonly parentId: string
  readonly name: string
  /** As in OTLP: 1 internal, 2 server, 3 client. */
  readonly kind: number
}

/** An OpenTelemetry collector on the loopback that takes spans by OTLP, protobuf over HTTP. */
export interface TraceCollector extends AsyncDisposable {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string
  readonly spans: readonly CollectedSpan[]
}

/** Starts a collector. */
export async function startCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url === '/v1/traces') spans.push(...decode(Buffer.concat(chunks)))
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

// The fields of opentelemetry/proto/collector/trace/v1 and opentelemetry/proto/trace/v1 that are read.
function decode(request: Uint8Array): CollectedSpan[] {
  return fields(request, 1).flatMap((resourceSpans) => {
    const service = fields(resourceSpans, 1).flatMap(serviceName)[0] ?? ''
    return fields(resourceSpans, 2).flatMap((scope) => fields(scope, 2).map((span) => toSpan(span, service)))
  })
}

function serviceName(resource: Uint8Array): string[] {
  const attribute = fields(resource, 1).find((pair) => text(fields(pair, 1)[0]) === 'service.name')
  return attribute === undefined ? [] : fields(attribute, 2).map((value) => text(fields(value, 1)[0]))
}

function toSpan(span: Uint8Array, service: string): CollectedSpan {
  const hex = (field: number): string => Buffer.from(fields(span, field)[0] ?? []).toString('hex')
  return {
    service,
    traceId: hex(1),
    spanId: hex(2),
    parentId: hex(4),
    name: text(fields(span, 5)[0]),
    kind: number(span, 6),
  }
}

/** The values of a length-delimited field: messages, texts, bytes. */
function fields(message: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(message)
  const found: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === wanted && type === WireType.LengthDelimited) found.push(reader.bytes())
    else reader.skip(type, field)
  }
  return found
}

function number(message: Uint8Array, wanted: number): number {
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === wanted && type === WireType.Varint) return reader.int32()
    reader.skip(type, field)
  }
  return 0
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString('utf8')
}
