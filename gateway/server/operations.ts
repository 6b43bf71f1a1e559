import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { byStatus } from '../kinds.ts'
import { operation } from '../operation.ts'
import { freeObject } from '../shape.ts'

/** `ServerInfo`. */
const serverInfo = z
  .strictObject({
    version: z.string(),
    pid: z.int().min(0),
    urls: z.array(z.string()),
    paths: z.strictObject({ tmp: z.string(), home: z.string() }),
    status: z.literal('ready'),
  })
  .meta({ id: 'ServerInfo' })

const health = z.strictObject({ healthy: z.literal(true) })

const liveness = z.strictObject({ status: z.literal('alive') })

const services = z.record(z.string(), z.enum(['ready', 'unavailable']))

const ready = z.strictObject({ status: z.literal('ready'), services })
const notReady = z.strictObject({
  status: z.enum(['starting', 'draining', 'unavailable']),
  reason: z.string().optional(),
  services: services.optional(),
})

/** `GET /openapi.json`. */
const openapi = freeObject('The format is defined by OpenAPI.', 100)

export const getInfo = operation({
  id: 'server.info',
  method: 'get',
  path: '/api/info',
  summary: 'Identity, URLs and paths of the server',
  description: 'Available only when the server is ready.',
  answer: serverInfo,
  handle: (_, { facade }) => facade,
  present({ config: { version, paths }, urls }) {
    return { version, pid: process.pid, urls: urls(), paths, status: 'ready' }
  },
})

export const getHealth = operation({
  id: 'health.get',
  method: 'get',
  path: '/api/health',
  summary: 'Whether the server accepts requests',
  description: 'Responds only if it does.',
  answer: health,
  handle: () => true as const,
  present: (healthy) => ({ healthy }),
})

export const getLiveness = operation({
  id: 'health.live',
  method: 'get',
  path: '/livez',
  summary: 'Whether the process responds',
  answer: liveness,
  handle: () => 'alive' as const,
  present: (status) => ({ status }),
})

export const getReadiness = operation({
  id: 'health.ready',
  method: 'get',
  path: '/readyz',
  summary: 'Whether requests should be sent here, and the state of each service',
  answer: byStatus({ 200: ready, 503: notReady }),
  async handle(_, { facade: { readiness, lifecycle } }) {
    const { state } = lifecycle
    return state === 'ready' ? { state, report: await readiness.report() } : { state }
  },
  present(look) {
    if (look.state !== 'ready') return { status: 503, body: { status: look.state } }
    const { ready, reason, services } = look.report
    if (ready) return { status: 200, body: { status: 'ready', services } }
    return { status: 503, body: { status: 'unavailable', reason, services } }
  },
})

export const getOpenapi = operation({
  id: 'openapi.get',
  method: 'get',
  path: '/openapi.json',
  summary: 'This document',
  answer: openapi,
  handle: readOpenapi,
  present: (document) => document,
})

let document: Record<string, unknown> | undefined

/** Written by dev/openapi.ts; read once somebody wants it. */
function readOpenapi(): Record<string, unknown> {
  document ??= JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
  return document as Record<string, unknown>
}
