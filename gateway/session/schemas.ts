import { z } from 'zod'
import { fork } from '../records/fork.ts'
import { metadata } from '../records/free.ts'
import { messageID, name, sessionID } from '../records/ids.ts'
import { locationRef } from '../records/location.ts'
import { modelRef } from '../records/model.ts'
import { outcome } from '../records/outcome.ts'
import { pageQuery } from '../records/page.ts'
import { delivery } from '../records/prompt.ts'
import { ruleset } from '../records/ruleset.ts'
import { time } from '../records/time.ts'
import { cost, tokenUsage } from '../records/usage.ts'

/** Body of session.create. */
export const createSessionBody = z.strictObject({
  id: sessionID.nullish(),
  title: z.string().nullish(),
  agent: name.nullish(),
  model: modelRef.nullish(),
  location: locationRef.nullish(),
  metadata: metadata.nullish(),
  permissions: ruleset.nullish(),
})

/** Body of session.fork. */
export const forkSessionBody = z.strictObject({
  before: messageID.nullish().meta({ description: 'The history before this message; absent: all of it' }),
})

/** Body of session.update. */
export const updateSessionBody = z.strictObject({
  title: z.string().nullish().meta({ description: 'Empty: the agent `title` finds one' }),
  metadata: metadata.nullish(),
  permissions: ruleset.nullish(),
})

/** Body of session.view. */
export const viewSessionBody = z.strictObject({ idle: time.meta({ description: 'The `time.idle` that was seen' }) })

/** Body of session.switchAgent. */
export const switchAgentBody = z.strictObject({ agent: name })

/** Body of session.switchModel. */
export const switchModelBody = z.strictObject({ model: modelRef })

/** Body of session.move. */
export const moveBody = z.strictObject({ directory: name, delivery: delivery.nullish() })

/** Query of session.list. */
export const listSessionsQuery = z
  .object({
    ...pageQuery,
    limit: pageQuery.limit.meta({ description: 'Maximum number of sessions; default: 50' }),
    parentID: z
      .string()
      .regex(/^(?:ses.*|null)$/s, 'must be a session id (ses…) or "null"')
      .optional()
      .meta({ description: 'Only children of this session; `null`: only root sessions' }),
    project: z.string().min(1).optional().meta({ description: 'Only sessions of this project' }),
    subpath: z.string().optional().meta({ description: 'Only sessions of this directory of the project' }),
    search: z.string().min(1).optional().meta({ description: 'Only sessions whose title contains this' }),
    directory: z.string().min(1).optional().meta({ description: 'Only sessions of this directory' }),
  })
  .refine(({ subpath, project }) => subpath === undefined || project !== undefined, {
    path: ['subpath'],
    error: 'requires project',
  })

/** `Session.Info` (instance facts 1.5). */
export const sessionInfo = z
  .strictObject({
    id: z.string(),
    parentID: z.string().optional(),
    fork: fork.optional(),
    projectID: z.string(),
    agent: z.string().optional().meta({ description: 'Selected agent; absent: the default agent' }),
    model: modelRef.optional(),
    cost,
    tokens: tokenUsage,
    outcome: outcome.optional(),
    time: z.strictObject({
      ...{ created: time, updated: time, idle: time.optional(), viewed: time.optional() },
      archived: time.optional().meta({ description: 'Only of an imported session; it is listed all the same' }),
    }),
    title: z.string().optional(),
    location: locationRef,
    subpath: z.string(),
    metadata: metadata.optional(),
    permissions: ruleset.optional(),
  })
  .meta({ id: 'Session.Info' })

/** `SessionActive`: what session.active says of each session that runs. */
export const sessionActive = z.strictObject({ type: z.literal('running') }).meta({ id: 'SessionActive' })
