import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import { z } from 'zod'
import { reasonOf } from '#shared/reasons.ts'
import { type Call, callOf, DEADLINE_MS } from '../call.ts'
import type { Config } from '../config.ts'
import { noteService } from '../errors/called-service.ts'
import { explain } from '../errors/explain.ts'
import type { Facade } from '../facade.ts'
import { beginGeneration } from '../generation/router-metadata.ts'
import { hasBody, readForm, readJson, readUnparsed } from '../http/body.ts'
import type { BodyMemory, BodyShare } from '../http/body-memory.ts'
import { check } from '../http/check.ts'
import { Padding, sendJson, sendNothing, sendPieces } from '../http/respond.ts'
import { sendEventHeaders, sendEvents } from '../http/sse.ts'
import { textReader } from '../http/texts.ts'
import type { EventAnswer, WholeAnswer } from '../kinds.ts'
import type { ExchangeLimit } from '../oauth/exchange-limit.ts'
import type { Input, Operation } from '../operation.ts'

/** What all operations have in common. */
export interface Shared {
  readonly exchanges: ExchangeLimit
  readonly bodyMemory: BodyMemory
}

/**
 * Makes the handler of an operation. The handler counts the request if it is limited, checks the caller, reads and
 * checks parameters, query, headers and body, in this order, sets the deadline of calls, calls the operation, and sends
 * its answer. Whatever it throws becomes an error of the operation's family. Everything that depends only on the
 * operation is computed once, when the handler is made.
 */
export function runOperation(operation: Operation, facade: Facade, { exchanges, bodyMemory }: Shared) {
  const read = partsReader(operation)
  const readBody = bodyReader(operation, limitOf(operation, facade.config))
  const send = sender(operation, facade)
  const isLong = streams(operation)
  const {
    answer,
    counted = false,
    credentials,
    generates = false,
    deadlineMs = isLong ? undefined : DEADLINE_MS,
    publicField,
  } = operation
  const headerOnly = 'kind' in answer && answer.kind === 'events'
  const inPieces = 'kind' in answer && answer.kind === 'pieces'
  return async function run(request: Request, response: Response): Promise<void> {
    const call = callOf(response)
    call.deadlineMs = deadlineMs
    call.endsByItself = inPieces
    if (generates) beginGeneration(call, facade, request.headers)
    if (counted) exchanges.admit(call.clientNetwork())
    call.requireOneOf(credentials)
    const { params, query, headers } = read(request)
    // GET would open a stream that never ends.
    if (headerOnly && request.method === 'HEAD') return sendEventHeaders(response)
    using share = readBody && bodyMemory.share(call.principal?.organizationId ?? call.clientNetwork())
    const body = share && (await readBody(request, share))
    // A stream may take any time, and its body is handed over by then.
    if (isLong) share?.[Symbol.dispose]()
    const input: Input = { params, query, headers, body, call, facade }
    const fieldName = publicField && ((field: string) => publicField(field, input))
    call.publicField = fieldName
    await send(response, input, await operation.handle(facade.clients, input))
  }
}

/** Whether an operation may answer with a stream, which lives as long as its client. */
function streams({ answer }: Operation): boolean {
  return 'kind' in answer && STREAMS.has(answer.kind)
}

const STREAMS: ReadonlySet<string> = new Set(['events', 'json or events', 'pieces'])

function limitOf({ limit = 'bodyLimit' }: Operation, config: Config): number {
  return typeof limit === 'number' ? limit : config[limit]
}

type BodyReader = (request: Request, share: BodyShare) => Promise<unknown>

function partsReader(operation: Operation) {
  const { params, cursor } = operation
  const query = operation.query && textReader(operation.query, cursor)
  const headers = operation.headers && textReader(operation.headers)
  return (request: Request) => ({
    params: params === undefined ? NOTHING : check(params, request.params, 'PATH_INVALID'),
    query: query === undefined ? NOTHING : query.query(queryOf(request)),
    headers: headers === undefined ? NOTHING : headers.headers(request.headers),
  })
}

const NOTHING = {}

function queryOf({ url = '' }: IncomingMessage): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

function bodyReader({ body, bodyAsGiven }: Operation, limit: number): BodyReader | undefined {
  if (body === undefined) return undefined
  if (body instanceof z.ZodType) {
    const { success: isOptional } = body.safeParse(undefined)
    return async (request, share) => {
      if (isOptional && !hasBody(request)) return undefined
      const value = await readJson(request, limit, share)
      const checked = check(body, value, 'BODY_INVALID')
      return bodyAsGiven ? value : checked
    }
  }
  if (body.kind === 'unparsed') return (request, share) => readUnparsed(request, limit, share)
  const reader = textReader(body.schema)
  return async (request, share) => reader.form(await readForm(request, limit, share))
}

type Send = (response: Response, input: Input, handled: unknown) => Promise<void> | void

function sender(operation: Operation, facade: Facade): Send {
  const { answer } = operation
  const present = (handled: unknown, input: Input): unknown => operation.present?.(handled, input)
  if (answer instanceof z.ZodType) {
    return (response, input, handled) => sendJson(response, 200, present(handled, input))
  }
  switch (answer.kind) {
    case 'none':
      return (response) => sendNothing(response)
    case 'by status':
      return (response, input, handled) => {
        const { status, body } = present(handled, input) as { status: number; body: unknown }
        sendJson(response, status, body)
      }
    case 'pieces':
      return (response, _input, handled) => sendPieces(response, handled as AsyncIterable<string>)
    case 'events':
      return (response, { call }, handled) =>
        sendStream(response, call, handled as EventAnswer, facade, facade.config.heartbeatMs, () => refusalOf(call))
    case 'json or events':
      return (response, { call }, handled) => {
        const either = handled as { json: unknown } | WholeAnswer | EventAnswer
        if ('json' in either) return sendJson(response, 200, either.json)
        if ('whole' in either) return sendWhole(response, call, either, facade)
        return sendStream(response, call, either, facade, facade.config.keepAliveMs)
      }
  }
}

/** Sends white space while the client waits for JSON. */
async function sendWhole(response: Response, call: Call, answer: WholeAnswer, facade: Facade): Promise<void> {
  using padding = new Padding(response, facade.config.keepAliveMs)
  try {
    const json = await answer.whole
    if (padding.begun) padding.finish(json)
    else sendJson(response, 200, json)
  } catch (error) {
    if (!padding.begun || call.over) throw error
    padding.finish(answer.late(error, explain(facade, call, error)))
  }
}

function sendStream(
  response: Response,
  call: Call,
  answer: EventAnswer,
  facade: Facade,
  heartbeatMs: number,
  check?: () => Promise<unknown>,
): Promise<void> {
  const { lifecycle } = facade
  return answer.sendBy(({ service, ...parts }) => {
    const failed = (error: unknown): string => {
      noteService(error, service)
      return parts.failed(error, explain(facade, call, error))
    }
    return sendEvents(response, { ...parts, failed, lifecycle, heartbeatMs, check })
  })
}

/** Why the caller of a stream would be refused by now. That identity is unavailable is no reason. */
async function refusalOf({ reauthenticate }: Call): Promise<unknown> {
  try {
    await reauthenticate?.()
    return undefined
  } catch (error) {
    return reasonOf(error)?.reason === 'CREDENTIAL_REFUSED' ? error : undefined
  }
}
