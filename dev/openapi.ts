// Writes `docs/openapi.json` from the operations of the gateway. Usage: openapi.ts [--check]
import { readFileSync, writeFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'
import { publicError } from '#gateway/errors/public-error.ts'
import { errorSchemas, instanceError } from '#gateway/errors/schemas.ts'
import type { Operation } from '#gateway/operation.ts'
import { errorsOf, outageStatusesOf, statusesOf } from '#gateway/operation-errors.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import packageJson from '../package.json' with { type: 'json' }

type Document = ReturnType<typeof createDocument>

/** The OpenAPI 3.1 document of some operations. */
export function openapiDocument(operations: readonly Operation[] = ALL_OPERATIONS): Document {
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) }
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Portico',
        version: packageJson.version,
        summary: packageJson.description,
      },
      servers: [{ url: '/', description: 'The server that this document comes from' }],
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'An API key' },
          managementKey: { type: 'http', scheme: 'bearer', description: 'A management key' },
          accessToken: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'What `POST /api/v1/oauth/token` gives for a token of a trusted issuer',
          },
          password: { type: 'http', scheme: 'basic', description: 'With PORTICO_AUTH=basic' },
        },
      },
      paths,
    },
    { override: ({ jsonSchema }) => unwrap(jsonSchema) },
  )
}

/** A choice of one alternative is that alternative. */
function unwrap(schema: { oneOf?: object[] | undefined }): void {
  const [only, ...more] = schema.oneOf ?? []
  if (only === undefined || more.length > 0) return
  delete schema.oneOf
  Object.assign(schema, only)
}

function describe(operation: Operation): ZodOpenApiOperationObject {
  const { id, summary, description, params, query, headers } = operation
  return {
    operationId: id,
    summary,
    description,
    tags: [id.split('.', 1)[0] as string],
    security: securityOf(operation),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined ? {} : { header: headers }),
    },
    ...bodyOf(operation),
    responses: { ...answersOf(operation), ...failuresOf(operation) },
  }
}

/** On `/api` the server's setting decides; without one, no credentials are needed on the machine itself. */
function securityOf({ credentials }: Operation): NonNullable<ZodOpenApiOperationObject['security']> {
  return [
    ...(credentials.includes('local-operator') ? [{}, { password: [] }] : []),
    ...(credentials.includes('workspace') ? [{ key: [] }] : []),
    ...(credentials.includes('management') ? [{ managementKey: [] }] : []),
    ...(credentials.includes('access-token') ? [{ accessToken: [] }] : []),
  ]
}

function bodyOf({ body }: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (body === undefined) return {}
  if (body instanceof z.ZodType)
    return { requestBody: { required: !body.safeParse(undefined).success, content: json(body) } }
  const content =
    body.kind === 'form' ? { 'application/x-www-form-urlencoded': { schema: body.schema } } : json(body.schema)
  return { requestBody: { required: true, content } }
}

function answersOf({ answer }: Operation): ZodOpenApiResponsesObject {
  if (answer instanceof z.ZodType) return { 200: { description: 'OK', content: json(answer) } }
  switch (answer.kind) {
    case 'pieces':
      return { 200: { description: 'OK', content: json(answer.schema) } }
    case 'none':
      return { 204: { description: 'Done' } }
    case 'events':
      return { 200: { description: 'Events, as the JSON of their `data:` lines', content: stream(answer.schema) } }
    case 'json or events':
      return { 200: { description: 'OK', content: { ...json(answer.json), ...stream(answer.events) } } }
    case 'by status':
      return Object.fromEntries(
        Object.entries(answer.schemas).map(([status, schema]) => [
          status,
          { description: STATUS_CODES[status] as string, content: json(schema) },
        ]),
      )
  }
}

const json = (schema: z.ZodType) => ({ 'application/json': { schema } })
const stream = (schema: z.ZodType) => ({ 'text/event-stream': { schema } })

/** Errors by status, without a status that the operation returns itself. */
function failuresOf(operation: Operation): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, AnyReason[]>()
  for (const reason of errorsOf(operation)) {
    for (const status of statusesOf(operation, reason)) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), reason])
    }
  }
  for (const status of outageStatusesOf(operation)) if (!byStatus.has(status)) byStatus.set(status, [])
  const own =
    operation.answer instanceof z.ZodType || operation.answer.kind !== 'by status'
      ? []
      : Object.keys(operation.answer.schemas)
  const failures = [...byStatus].filter(([status]) => !own.includes(String(status)))
  return {
    ...Object.fromEntries(failures.map(([status, reasons]) => [status, failure(operation, status, reasons)])),
    500: failure(operation, 500, []),
  }
}

function failure({ family }: Operation, status: number, reasons: readonly AnyReason[]) {
  const description = STATUS_CODES[status] as string
  if (family !== 'instance') return { description, content: json(errorSchemas[family]) }
  const examples = reasons.length === 0 ? [new Error('unknown')] : reasons.map((reason) => new Rejection(reason))
  const tags = new Set(examples.map((error) => publicError(family, error).body._tag as string))
  const schemas = instanceError.options.filter((schema) => tags.has(schema.shape._tag.value))
  return { description, content: json(schemas.length === 1 ? (schemas[0] as z.ZodType) : z.union(schemas)) }
}

if (import.meta.main) {
  const file = fileURLToPath(new URL('../docs/openapi.json', import.meta.url))
  const wanted = `${JSON.stringify(openapiDocument(), null, 2)}\n`
  if (!process.argv.includes('--check')) writeFileSync(file, wanted)
  else if (readFileSync(file, 'utf8') !== wanted) {
    process.stderr.write('docs/openapi.json is not in step with the operations: run npm run generate\n')
    process.exitCode = 1
  }
}
