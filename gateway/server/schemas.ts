import { z } from 'zod'
import { freeObject } from '../shape.ts'

/** `ServerInfo` (instance facts 1.2). */
export const serverInfo = z
  .strictObject({
    version: z.string(),
    pid: z.int().min(0),
    urls: z.array(z.string()),
    paths: z.strictObject({ tmp: z.string(), home: z.string() }),
    status: z.literal('ready'),
  })
  .meta({ id: 'ServerInfo' })

export const health = z.strictObject({ healthy: z.literal(true) })

export const liveness = z.strictObject({ status: z.literal('alive') })

const services = z.record(z.string(), z.enum(['ready', 'unavailable']))

export const ready = z.strictObject({ status: z.literal('ready'), services })
export const notReady = z.strictObject({
  status: z.enum(['starting', 'draining', 'unavailable']),
  reason: z.string().optional(),
  services: services.optional(),
})

/** `GET /openapi.json`. */
export const openapi = freeObject('The format is defined by OpenAPI.', 100)
