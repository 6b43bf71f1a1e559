import { z } from 'zod'
import { Delivery, Outcome, type Session } from '#gen/portico/session/v1/session_pb.js'
import {
  dollars,
  jsonObject,
  locationRef,
  messageId,
  milliseconds,
  modelRef,
  modelRefJson,
  name,
  orAbsent,
  ruleset,
  rulesetJson,
  sessionId,
  tokenUsage,
} from './common.ts'

/** Body of session.create. */
export const createSessionBody = z.strictObject({
  id: sessionId.nullish(),
  title: z.string().nullish(),
  agent: name(256).nullish(),
  model: modelRef.nullish(),
  location: locationRef.nullish(),
  metadata: jsonObject.nullish(),
  permissions: ruleset.nullish(),
})

/** Body of session.switchAgent. */
export const switchAgentBody = z.strictObject({ agent: name(256) })

/** Body of session.switchModel. */
export const switchModelBody = z.strictObject({ model: modelRef })

const position = z.int().min(0).max(2_147_483_647)
const mention = z.strictObject({ start: position, end: position, text: z.string().max(1_048_576) })
const file = z
  .strictObject({
    uri: name(Number.MAX_SAFE_INTEGER),
    name: name(1_024).nullish(),
    description: z.string().max(16_384).nullish(),
    mention: mention.nullish(),
  })
  .transform((given) => ({
    uri: given.uri,
    ...(given.name == null ? {} : { name: given.name }),
    ...(given.description == null ? {} : { description: given.description }),
    ...(given.mention == null ? {} : { mention: given.mention }),
  }))
const agent = z
  .strictObject({ name: name(256), mention: mention.nullish() })
  .transform((given) => ({ name: given.name, ...(given.mention == null ? {} : { mention: given.mention }) }))
const said = {
  files: z.array(file).max(32).nullish(),
  agents: z.array(agent).max(32).nullish(),
  skills: z
    .array(z.strictObject({ id: name(256), mention: mention.nullish() }))
    .max(32)
    .nullish(),
  metadata: jsonObject.nullish(),
}

/**
 * Body of session.prompt. Clients of 1.x wrap what was said in `prompt`, the one member that the specification does not
 * know and that is taken all the same: both forms mean the same, and exactly one of them has to be there.
 */
export const promptBody = z
  .strictObject({
    id: messageId.nullish(),
    text: z.string().optional(),
    ...said,
    prompt: z.strictObject({ text: z.string(), ...said }).nullish(),
    delivery: z
      .enum(['steer', 'queue'])
      .transform((word) => DELIVERIES[word])
      .nullish(),
    resume: z.boolean().nullish(),
  })
  .transform(({ prompt, ...body }, context) => {
    const twice = prompt == null ? undefined : SAID.find((member) => body[member] != null)
    if (twice !== undefined) {
      context.addIssue({ code: 'custom', path: [twice], message: 'Must not stand beside prompt' })
      return z.NEVER
    }
    const text = body.text ?? prompt?.text
    if (text === undefined) {
      context.addIssue({ code: 'custom', path: ['text'], message: 'Invalid input: expected string' })
      return z.NEVER
    }
    return { ...body, ...prompt, text }
  })

const SAID = ['text', 'files', 'agents', 'skills', 'metadata'] as const

const DELIVERIES = { steer: Delivery.STEER, queue: Delivery.QUEUE } as const

const OUTCOMES = {
  [Outcome.UNSPECIFIED]: undefined,
  [Outcome.SUCCEEDED]: 'succeeded',
  [Outcome.FAILED]: 'failed',
  [Outcome.INTERRUPTED]: 'interrupted',
} as const

/** The public name of an outcome, or undefined before the first one. */
export function outcomeName(outcome: Outcome): 'succeeded' | 'failed' | 'interrupted' | undefined {
  return OUTCOMES[outcome]
}

/** `Session.Info` (`contract/instance-facts.md` 1.5). */
export function sessionInfo(session: Session) {
  return {
    id: session.sessionId,
    parentID: orAbsent(session.parentId),
    projectID: session.projectId,
    agent: orAbsent(session.agent),
    model: modelRefJson(session.model),
    cost: dollars(session.costNanos),
    tokens: tokenUsage(session.tokens),
    outcome: OUTCOMES[session.outcome],
    time: {
      created: milliseconds(session.createTime),
      updated: milliseconds(session.updateTime),
      idle: milliseconds(session.idleTime),
    },
    title: session.title,
    location: { directory: session.directory },
    subpath: session.subpath,
    metadata: session.metadata,
    permissions: session.permissions === undefined ? undefined : rulesetJson(session.permissions.rules),
  }
}
