import type { Response } from 'express'
import type { Facade, Route } from '../facade.ts'
import { sendJson } from '../http/respond.ts'

/** `GET /livez`: the process answers. `GET /readyz`: requests should be sent here (`Readiness`). */
export function healthRoutes(facade: Facade): Route[] {
  return [
    {
      operation: 'health.live',
      method: 'get',
      path: '/livez',
      handle: (_, response) => sendJson(response, 200, { status: 'alive' }),
    },
    { operation: 'health.ready', method: 'get', path: '/readyz', handle: (_, response) => ready(facade, response) },
  ]
}

async function ready({ readiness, lifecycle }: Facade, response: Response): Promise<void> {
  if (lifecycle.state !== 'ready') return sendJson(response, 503, { status: lifecycle.state })
  const { ready, ...more } = await readiness.report()
  sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'unavailable', ...more })
}
