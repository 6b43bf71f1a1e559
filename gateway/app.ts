import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { Rejection } from '#shared/rejection.ts'
import { authenticate } from './auth/authenticate.ts'
import { callOf } from './call.ts'
import { explain } from './errors/explain.ts'
import type { Facade, Route } from './facade.ts'
import { beginCall } from './http/begin.ts'
import { cors } from './http/cors.ts'
import { requireKnownExpectation } from './http/expectation.ts'
import { requireOneHost } from './http/origin.ts'
import { sendJson } from './http/respond.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS } from './operations.ts'
import { agentRoutes } from './routes/agent.ts'
import { eventRoutes } from './routes/event.ts'
import { messageRoutes } from './routes/message.ts'
import { permissionRoutes } from './routes/permission.ts'
import { promptRoutes } from './routes/prompt.ts'
import { sessionRoutes } from './routes/session.ts'
import { runOperation } from './run-operation.ts'

/** Makes the Express app. Reading it top to bottom is reading what happens to a request. */
export function createApp(facade: Facade, operations: readonly Operation[] = OPERATIONS): Express {
  const app = express()
  app.set('etag', false)
  app.set('x-powered-by', false)
  app.set('query parser', false)
  app.set('case sensitive routing', true)
  app.use(beginCall(facade))
  app.use(requireOneHost)
  app.use(requireKnownExpectation)
  app.use(cors(facade.config))
  app.use(authenticate(facade))
  addRoutes(app, [
    ...sessionRoutes(facade),
    ...promptRoutes(facade),
    ...messageRoutes(facade),
    ...eventRoutes(facade),
    ...permissionRoutes(facade),
    ...agentRoutes(facade),
    ...operations.map((operation) => routeOf(operation, facade)),
  ])
  app.use(refuseUnknownRoute)
  app.use(answerError(facade))
  return app
}

function routeOf(operation: Operation, facade: Facade): Route {
  const path = operation.path.replace(/\{(\w+)\}/g, ':$1')
  return { operation: operation.id, method: operation.method, path, handle: runOperation(operation, facade) }
}

/** Registers routes by path, so that a known path answers a wrong method with 405 and the methods it has. */
function addRoutes(app: Express, routes: readonly Route[]): void {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  for (const [path, operations] of byPath) {
    const at = app.route(path)
    for (const { method, handle } of operations) at[method](handle)
    const methods = operations.map(({ method }) => method.toUpperCase())
    const allow = (methods.includes('GET') ? ['HEAD', ...methods] : methods).toSorted().join(', ')
    at.all((request, response) => {
      if (request.method !== 'OPTIONS') throw new Rejection('METHOD_NOT_ALLOWED', { allow })
      response.writeHead(204, [...callOf(response).headers, 'allow', allow]).end()
    })
  }
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
    // A stream tells its own failures; whatever comes here after the headers can only cut the answer off.
    if (response.headersSent) response.destroy()
    else sendJson(response, status, body, headers)
  }
}
