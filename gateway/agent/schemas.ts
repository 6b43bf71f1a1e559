import { z } from 'zod'
import { modelRef } from '../records/model.ts'
import { ruleset } from '../records/ruleset.ts'
import { freeObject } from '../shape.ts'

/** `Agent.Info` (instance facts 1.3). */
export const agentInfo = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    model: modelRef.optional(),
    request: z.strictObject({
      settings: freeObject('Settings from the agent’s files, interpreted by the provider.'),
      headers: z.record(z.string(), z.string()),
      body: freeObject('Members that are passed to the provider.'),
    }),
    system: z.string().optional(),
    description: z.string().optional(),
    mode: z.enum(['subagent', 'primary', 'all']),
    hidden: z.boolean(),
    color: z.string().optional(),
    steps: z.int().min(1).optional(),
    permissions: ruleset,
  })
  .meta({ id: 'Agent.Info' })
