import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { authenticate } from './auth.ts'
import { Call, callOf, type Family } from './call.ts'
import { cors } from './cors.ts'
import { publicError } from './errors.ts'
import { sendJson } from './respond.ts'
import type { Facade, Route } from './route.ts'
import { agentRoutes } from './routes/agent.ts'
import { eventRoutes } from './routes/event.ts'
import { healthRoutes } from './routes/health.ts'
import { infoRoutes } from './routes/info.ts'
import { locationRoutes } from './routes/location.ts'
import { messageRoutes } from './routes/message.ts'
import { permissionRoutes } from './routes/permission.ts'
import { promptRoutes } from './routes/prompt.ts'
import { responsesRoutes } from './routes/responses.ts'
import { sessionRoutes } from './routes/session.ts'

/** Makes the Express app. Reading it top to bottom is reading what happens to a request. */
export function createApp(facade: Facade): Express {
  const app = express()
  app.set('etag', false)
  app.set('x-powered-by', false)
  app.set('query parser', false)
  app.set('case sensitive routing', true)
  app.use(beginCall(facade))
  app.use(cors(facade.config))
  app.use(authenticate(facade))
  addRoutes(app, [
    ...sessionRoutes(facade),
    ...promptRoutes(facade),
    ...messageRoutes(facade),
    ...eventRoutes(facade),
    ...permissionRoutes(facade),
    ...agentRoutes(facade),
    ...locationRoutes(facade),
    ...infoRoutes(facade),
    ...responsesRoutes(facade),
    ...healthRoutes(facade),
  ])
  app.use(refuseUnknownRoute)
  app.use(answerError(facade))
  return app
}

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/

/** Gives the request its id and its abort signal, and logs it when it is over. */
function beginCall({ clock, logger }: Facade) {
  return function beginRequest(request: Request, response: Response, next: NextFunction): void {
    const given = request.headers['x-request-id']
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomId('req')
    const call = new Call(familyOf(request.path), requestId)
    response.locals.call = call
    const started = clock.monotonic()
    const { method, path } = request
    response.on('close', () => {
      const status = response.headersSent ? response.statusCode : 499
      const ms = Math.round((clock.monotonic() - started) * 100) / 100
      logger.info({ requestId, method, path, status, ms, cut: !response.writableFinished, ref: call.ref }, 'request')
      if (!response.writableFinished) call.end()
    })
    next()
  }
}

function familyOf(path: string): Family {
  if (!path.startsWith('/api/v1')) return 'instance'
  if (path.startsWith('/api/v1/oauth/')) return 'oauth'
  return path.length === 7 || path[7] === '/' ? 'gateway' : 'instance'
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

function answerError({ logger }: Facade) {
  return function answer(error: unknown, _request: Request, response: Response, _next: NextFunction): void {
    const call = callOf(response)
    if (response.destroyed) return
    const { status, body, headers, ref } = publicError(call.family, error)
    if (ref !== undefined) {
      call.ref = ref
      logger.error({ requestId: call.requestId, ref, err: error }, 'internal error')
    }
    // A stream tells its own failures; whatever comes here after the headers can only cut the answer off.
    if (response.headersSent) response.destroy()
    else sendJson(response, status, body, headers)
  }
}
