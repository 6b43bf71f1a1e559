import { Code, ConnectError } from '@connectrpc/connect'
import type { Response } from 'express'
import { callOptions, type Principal } from '#shared/call-context.ts'
import { reasonOf } from '#shared/rejection.ts'
import { callOf } from '../call.ts'
import { sendJson } from '../respond.ts'
import type { Facade, Route } from '../route.ts'

/** How long a service may take to show that it is reachable, in milliseconds. */
const PROBE_MS = 2_000

/** `GET /livez`: the process answers. `GET /readyz`: it takes requests, and every service and its store answers. */
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

async function ready({ clients, lifecycle }: Facade, response: Response): Promise<void> {
  if (lifecycle.state !== 'ready') return sendJson(response, 503, { status: lifecycle.state })
  const { requestId, signal } = callOf(response)
  const options = callOptions({ principal: PROBE, requestId }, { signal, timeoutMs: PROBE_MS })
  const [identity, catalog, session, inference] = await Promise.all([
    answers(clients.identity.checkApiKey({ keyId: 'key_probe' }, options)),
    answers(clients.catalog.resolveLocation({}, options)),
    answers(clients.session.listActiveSessions({}, options)),
    answers(clients.inference.listModels({}, options)),
  ])
  const services = { identity, catalog, session, inference }
  const all = identity && catalog && session && inference
  const state = (up: boolean): string => (up ? 'ready' : 'unavailable')
  const each = Object.fromEntries(Object.entries(services).map(([name, up]) => [name, state(up)]))
  sendJson(response, all ? 200 : 503, { status: state(all), services: each })
}

/** A workspace that no record belongs to: a probe reads nobody's data. */
const PROBE: Principal = { organizationId: 'org_probe', workspaceId: 'wrk_probe', apiKeyId: '', kind: 'workspace' }

/** A refusal is an answer: the service runs. */
async function answers(probe: Promise<unknown>): Promise<boolean> {
  try {
    await probe
    return true
  } catch (error) {
    return reasonOf(error) !== undefined || (error instanceof ConnectError && error.code === Code.NotFound)
  }
}
