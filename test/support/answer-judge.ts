import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'
import { publicError } from '#gateway/errors/public-error.ts'
import { errorSchemas } from '#gateway/errors/schemas.ts'
import { familyOf } from '#gateway/family.ts'
import type { App } from '#gateway/http/listen.ts'
import type { Operation } from '#gateway/operation.ts'
import { errorsOf, outageStatusesOf, statusesOf } from '#gateway/operation-errors.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'

/** How much of an answer is kept; the rest of a stream is not judged. */
const MOST = 8_000_000

/** They return 500 for a stored message that cannot be read. */
const READ_MESSAGES: ReadonlySet<string> = new Set([
  ...['session.messages', 'session.message'],
  ...['session.context', 'session.fork', 'experimental.session.export'],
])

/**
 * Judges every answer of an app by the schema of its operation, and throws the problems when it is disposed. Only tests
 * check answers, and only this way. `declared`: errors must also be those that the operation declares; stubs reject
 * with anything.
 */
export class AnswerJudge implements Disposable {
  readonly #findings: string[] = []
  readonly #declared: boolean
  readonly #operations: readonly Operation[]

  constructor(options: { readonly declared: boolean; readonly operations?: readonly Operation[] | undefined }) {
    this.#declared = options.declared
    this.#operations = options.operations ?? ALL_OPERATIONS
  }

  wrap(app: App): App {
    return (request, response, next) => {
      const text = keepText(response)
      const { method = '', url = '' } = request
      response.on('close', () => this.#judge(request, response, `${method} ${url.slice(0, 200)}`, text()))
      app(request, response, next)
    }
  }

  #judge({ method = '', url = '' }: IncomingMessage, response: ServerResponse, what: string, text: string): void {
    // A proxy's request names the server, too.
    const path = url.replace(/^\w+:\/\/[^/?]*/, '').split('?', 1)[0] as string
    const first = path.startsWith('/v1/') ? `/api${path}` : path
    if (!response.headersSent || method === 'HEAD' || method === 'OPTIONS') return
    const operation = this.#operations.find((each) => each.method.toUpperCase() === method && matches(each.path, first))
    const { statusCode: status, writableFinished: whole } = response
    const judged = operation === undefined ? undefined : schemaOf(operation, status, response)
    if (judged === 'nothing') {
      if (text !== '') this.#findings.push(`${what}: ${status} with a body`)
    } else if (judged !== undefined && 'events' in judged) {
      for (const data of dataOf(text)) this.#check(judged.events, data, `${what}: an event`)
    } else if (whole) {
      this.#check(judged?.schema ?? errorSchemas[familyOf(path)], text, `${what}: ${status}`)
      if (judged === undefined && operation !== undefined && this.#declared)
        this.#checkDeclared(operation, status, JSON.parse(text), what)
    }
  }

  #check(schema: z.ZodType, text: string, what: string): void {
    // Free-form members of a schema would let it pass.
    if (text.includes('$typeName')) this.#findings.push(`${what}: a protobuf message\n${text.slice(0, 2_000)}`)
    const result = schema.safeParse(JSON.parse(text))
    if (!result.success) this.#findings.push(`${what}: ${z.prettifyError(result.error)}\n${text.slice(0, 2_000)}`)
  }

  #checkDeclared(operation: Operation, status: number, { _tag }: { readonly _tag?: string }, what: string): void {
    const looksSo = (reason: AnyReason): boolean =>
      statusesOf(operation, reason).includes(status) &&
      publicError(operation.family, new Rejection(reason)).body._tag === _tag
    // A stored message that cannot be read is the one internal error in the contract.
    if (status === 500 && READ_MESSAGES.has(operation.id)) return
    if (errorsOf(operation).some(looksSo) || outageStatusesOf(operation).includes(status)) return
    this.#findings.push(`${what}: ${operation.id} declares no error that is ${status} ${_tag ?? ''}`)
  }

  [Symbol.dispose](): void {
    if (this.#findings.length > 0) throw new Error(`Answers do not fit their schemas:\n${this.#findings.join('\n')}`)
  }
}

type Judged = { readonly schema: z.ZodType } | { readonly events: z.ZodType } | 'nothing'

/** What an answer has to match; undefined: an error. */
function schemaOf({ answer }: Operation, status: number, response: ServerResponse): Judged | undefined {
  if ('kind' in answer && answer.kind === 'by status' && answer.schemas[status] !== undefined) {
    return { schema: answer.schemas[status] }
  }
  if (status >= 400) return undefined
  if (!('kind' in answer)) return { schema: answer }
  switch (answer.kind) {
    case 'none':
      return 'nothing'
    case 'pieces':
      return { schema: answer.schema }
    case 'events':
      return { events: answer.schema }
    case 'json or events':
      return String(response.getHeader('content-type') ?? headersOf(response)).includes('text/event-stream')
        ? { events: answer.events }
        : { schema: answer.json }
    case 'by status':
      return undefined
  }
}

/** Headers as they were sent if `writeHead` got a list. */
function headersOf(response: ServerResponse): string {
  return (response as ServerResponse & { readonly _header?: string })._header ?? ''
}

function matches(template: string, path: string): boolean {
  const [parts, given] = [template.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, i) => part.startsWith('{') || part === given[i])
}

/** The JSON of each whole event. */
function dataOf(text: string): string[] {
  const frames = text.split('\n\n').slice(0, -1)
  const data = frames.flatMap((frame) => frame.split('\n').filter((line) => line.startsWith('data: ')))
  return data.map((line) => line.slice('data: '.length)).filter((json) => json !== '[DONE]')
}

/** Collects what is written to a response. */
function keepText(response: ServerResponse): () => string {
  const chunks: string[] = []
  let size = 0
  const keep = (chunk: unknown): void => {
    if (size > MOST || (typeof chunk !== 'string' && !(chunk instanceof Uint8Array))) return
    chunks.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'))
    size += chunk.length
  }
  for (const name of ['write', 'end'] as const) {
    const send = response[name]
    Object.assign(response, {
      [name](...words: unknown[]) {
        keep(words[0])
        return Reflect.apply(send, response, words)
      },
    })
  }
  return () => chunks.join('')
}
