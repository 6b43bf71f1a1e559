import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express'
import { Rejection } from '#shared/rejection.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { authenticate } from '../auth/authenticate.ts'
import { WrongKeys } from '../auth/wrong-keys.ts'
import { callOf } from '../call.ts'
import { explain } from '../errors/explain.ts'
import type { Facade } from '../facade.ts'
import { baseUrlProblem, secondPath } from '../family.ts'
import { beginCall } from '../http/begin.ts'
import { BodyMemory } from '../http/body-memory.ts'
import { cors } from '../http/cors.ts'
import { requireKnownExpectation, requireOneHost } from '../http/request-checks.ts'
import { sendJson } from '../http/respond.ts'
import { ExchangeLimit } from '../oauth/exchange-limit.ts'
import type { Operation } from '../operation.ts'
import { ALL_OPERATIONS } from './operations.ts'
import { runOperation, type Shared as SharedByOperations } from './run-operation.ts'

/** Handles a request; whatever it throws becomes an error response. `next` passes the request on. */
type Handler = (request: Request, response: Response, next: NextFunction) => unknown

/** Makes the Express app. From top to bottom, it shows what happens to a request. */
export function createApp(
  facade: Facade,
  operations: readonly Operation[] = ALL_OPERATIONS,
  bodyMemory = new BodyMemory(),
): Express {
  const app = express()
  app.set('etag', false)
  app.set('x-powered-by', false)
  app.set('query parser', false)
  app.use(handle(facade, operations, bodyMemory))
  app.use(refuseUnknownRoute)
  app.use(answerError(facade))
  return app
}

/**
 * The steps that every request takes: one middleware for all of them, because Express spends a microsecond or more on
 * each middleware.
 */
function handle(facade: Facade, operations: readonly Operation[], bodyMemory: BodyMemory): Handler {
  const begin = beginCall(facade)
  const admitted = admission(facade)
  const shared = { wrongKeys: new WrongKeys(facade.clock, facade.logger), exchanges: exchangeLimit(facade), bodyMemory }
  const toRoutes = behindAuthentication(operations, facade, shared)
  return function handleRequest(request, response, next) {
    return begin(request, response, () => (admitted(request, response) ? toRoutes(request, response, next) : undefined))
  }
}

/**
 * Returns whether the request continues: preflights are answered here, and requests that are not allowed are refused.
 */
function admission({ config }: Facade) {
  const allowOrigins = cors(config)
  return function admitted(request: Request, response: Response): boolean {
    requireOneHost(request)
    requireBaseUrl(request)
    requireKnownExpectation(request)
    return !allowOrigins(request, response)
  }
}

/** Rejects paths that only a client with a wrong base URL calls, before a key is required. */
function requireBaseUrl({ path }: Request): void {
  const hint = baseUrlProblem(path)
  if (hint !== undefined) throw new Rejection('ROUTE_NOT_FOUND', { hint })
}

/** The routes of some operations, behind authentication. */
function behindAuthentication(operations: readonly Operation[], facade: Facade, shared: Shared): Handler {
  const authenticated = authenticate(facade, operations, shared.wrongKeys)
  const routes = routesOf(operations, facade, shared)
  return async function route(request, response, next) {
    await authenticated(request, response)
    routes(request, response, next)
  }
}

/** What all routes have in common. */
interface Shared extends SharedByOperations {
  readonly wrongKeys: WrongKeys
}

/**
 * Registers operations by path, those of `/api/v1` below `/v1` as well, so that a known path answers a wrong method
 * with 405 and the methods it has.
 */
export function routesOf(operations: readonly Operation[], facade: Facade, shared: SharedByOperations): Router {
  const router = express.Router({ caseSensitive: true })
  const byPath = Map.groupBy(operations, ({ path }) => path)
  for (const [path, ofPath] of byPath) {
    const paths = [path, secondPath(path)].filter((one) => one !== undefined)
    const at = router.route(paths.map((one) => one.replace(/\{(\w+)\}/g, ':$1')))
    for (const operation of ofPath) at[operation.method](runOperation(operation, facade, shared))
    const methods = ofPath.map(({ method }) => method.toUpperCase())
    const allow = (methods.includes('GET') ? ['HEAD', ...methods] : methods).toSorted().join(', ')
    at.all((request, response) => {
      if (request.method !== 'OPTIONS') throw new Rejection('METHOD_NOT_ALLOWED', { allow })
      response.writeHead(204, [...callOf(response).headers, 'cache-control', 'no-store', 'allow', allow]).end()
    })
  }
  return router
}

/** A count that arrives late is useless. */
const COUNT_MS = 1_000

function exchangeLimit({ clients, clock, config }: Facade): ExchangeLimit {
  return new ExchangeLimit({
    clock,
    limit: config.exchangesPerMinute,
    async report(admitted) {
      const options = callOptions({}, { timeoutMs: COUNT_MS })
      return (await clients.federation.countExchanges({ admitted }, options)).totals
    },
  })
}

function refuseUnknownRoute(): void {
  throw new Rejection('ROUTE_NOT_FOUND')
}

function answerError(facade: Facade) {
  return function answer(error: unknown, _request: Request, response: Response, _next: NextFunction): void {
    const call = callOf(response)
    if (response.destroyed) return
    const { status, body, headers } = explain(facade, call, error)
    if (status >= 500) call.error = error
    // A stream reports its own failures. For anything else that fails after the headers were sent, the connection can
    // only be cut.
    if (response.headersSent) response.destroy()
    else sendJson(response, status, body, headers)
  }
}
