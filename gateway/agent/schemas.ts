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
      settings: freeObject('Settings of the agent’s files, which the provider reads.'),
      headers: z.record(z.string(), z.string()),
      body: freeObject('Members for the provider, which reads them.'),
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
