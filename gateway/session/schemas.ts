import { z } from 'zod'
import { PermissionRulesetSchema, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { ListSessionsRequestSchema, MoveSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { fork } from '../records/fork.ts'
import { sentMetadata } from '../records/free.ts'
import { messageID, name, sessionID } from '../records/ids.ts'
import { locationRef } from '../records/location.ts'
import { modelRef } from '../records/model.ts'
import { outcome } from '../records/outcome.ts'
import { pageQuery } from '../records/page.ts'
import { delivery } from '../records/prompt.ts'
import { ruleset } from '../records/ruleset.ts'
import { time } from '../records/time.ts'
import { cost, tokenUsage } from '../records/usage.ts'
import { limitedBy } from '../shape.ts'

const { title: titleField, agent: agentField } = SessionSchema.field
const title = limitedBy(titleField, z.string())
const agent = limitedBy(agentField, name)
const sessionRules = limitedBy(PermissionRulesetSchema.field.rules, ruleset)
const filters = ListSessionsRequestSchema.field

export const createSessionBody = z.strictObject({
  id: sessionID.nullish(),
  title: title.nullish().meta({ description: 'Absent or empty: the agent `title` finds one after the first input' }),
  agent: agent.nullish(),
  model: modelRef.nullish(),
  location: locationRef.nullish(),
  metadata: sentMetadata.nullish(),
  permissions: sessionRules.nullish(),
})

export const forkSessionBody = z.strictObject({
  before: messageID.nullish().meta({ description: 'The history before this message; absent: all of it' }),
})

export const updateSessionBody = z.strictObject({
  title: title.nullish().meta({ description: 'Empty: the agent `title` finds one' }),
  metadata: sentMetadata.nullish(),
  permissions: sessionRules.nullish(),
})

export const viewSessionBody = z.strictObject({ idle: time.meta({ description: 'The `time.idle` that was seen' }) })

export const switchAgentBody = z.strictObject({ agent })

export const switchModelBody = z.strictObject({ model: modelRef })

export const moveBody = z.strictObject({
  directory: limitedBy(MoveSessionRequestSchema.field.directory, name),
  delivery: delivery.nullish(),
})

export const listSessionsQuery = z
  .object({
    ...pageQuery,
    limit: pageQuery.limit.meta({ description: 'Maximum number of sessions; default: 50' }),
    parentID: z
      .string()
      .regex(/^(?:ses.*|null)$/s, 'must be a session id (ses…) or "null"')
      .optional()
      .meta({ description: 'Only children of this session; `null`: only root sessions' }),
    project: limitedBy(filters.projectId, z.string().min(1))
      .optional()
      .meta({ description: 'Only sessions of this project' }),
    subpath: limitedBy(filters.subpath, z.string())
      .optional()
      .meta({ description: 'Only sessions of this directory of the project' }),
    search: limitedBy(filters.search, z.string().min(1))
      .optional()
      .meta({ description: 'Only sessions whose title contains this' }),
    directory: limitedBy(filters.directory, z.string().min(1))
      .optional()
      .meta({ description: 'Only sessions of this directory' }),
  })
  .refine(({ subpath, project }) => subpath === undefined || project !== undefined, {
    path: ['subpath'],
    error: 'requires project',
  })

export const sessionInfo = z
  .strictObject({
    id: z.string(),
    parentID: z.string().optional(),
    fork: fork.optional(),
    projectID: z.string(),
    agent: limitedBy(agentField, z.string())
      .optional()
      .meta({ description: 'Selected agent; absent: the default agent' }),
    model: modelRef.optional(),
    cost,
    tokens: tokenUsage,
    outcome: outcome.optional(),
    time: z.strictObject({
      created: time,
      updated: time,
      idle: time.optional(),
      viewed: time.optional(),
      archived: time.optional().meta({ description: 'Only in imported sessions, which are listed nevertheless' }),
    }),
    title: title.optional(),
    location: locationRef,
    subpath: z.string(),
    metadata: sentMetadata.optional(),
    permissions: sessionRules.optional(),
  })
  .meta({ id: 'Session.Info' })

/** `SessionActive`: what session.active says of each session that runs. */
export const sessionActive = z.strictObject({ type: z.literal('running') }).meta({ id: 'SessionActive' })
