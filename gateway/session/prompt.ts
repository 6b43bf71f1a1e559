import { setTimeout as delay } from 'node:timers/promises'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { z } from 'zod'
import { FileInputSchema, SkillInputSchema } from '#gen/portico/session/v1/session_pb.js'
import { ListInboxItemsResponseSchema, PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import type { Clients } from '../clients.ts'
import type { Lifecycle } from '../http/lifecycle.ts'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { sentMetadata, toStruct } from '../records/free.ts'
import { messageID, name, sessionParameter } from '../records/ids.ts'
import { fromInboxItemOf, inboxUser } from '../records/inbox-item.ts'
import { agentAttachment, delivery, mention, toDelivery } from '../records/prompt.ts'
import { limitedBy, mostIn, refinedBy } from '../shape.ts'

const file = z
  .strictObject({
    uri: name.meta({ description: '`data:` or `file:`; at most 20 MiB' }),
    name: limitedBy(FileInputSchema.field.name, name).nullish(),
    description: limitedBy(FileInputSchema.field.description, z.string()).nullish(),
    mention: mention.nullish(),
  })
  .meta({ id: 'PromptInput.FileAttachment' })

const skill = z
  .strictObject({ id: limitedBy(SkillInputSchema.field.skillId, name), mention: mention.nullish() })
  .meta({ id: 'PromptInput.SkillAttachment' })

const sent = PromptSessionRequestSchema.field
const text = limitedBy(sent.text, z.string())

const beside = {
  files: limitedBy(sent.files, z.array(file)).nullish(),
  agents: limitedBy(sent.agents, z.array(agentAttachment)).nullish(),
  skills: limitedBy(sent.skills, z.array(skill)).nullish(),
  metadata: sentMetadata.nullish(),
}

const source = mention.nullish().meta({ description: 'The `mention` of clients of 1.x' })

const besideOf1x = {
  ...beside,
  files: limitedBy(
    sent.files,
    z.array(file.extend({ source }).meta({ id: 'PromptInput.FileAttachment.V1' })),
  ).nullish(),
  agents: limitedBy(
    sent.agents,
    z.array(agentAttachment.extend({ source }).meta({ id: 'Prompt.AgentAttachment.V1' })),
  ).nullish(),
}

/** Members that may be in the body or in its member `prompt`. */
const CONTENT = ['text', 'files', 'agents', 'skills', 'metadata'] as const

/**
 * Body of session.prompt. Clients of 1.x wrap the prompt in `prompt`, the only member that is accepted although the
 * specification does not have it. Both forms mean the same, and exactly one must be present.
 */
const promptBody = z
  .strictObject({
    id: messageID.nullish(),
    text: text.optional(),
    ...beside,
    prompt: z
      .strictObject({ text, ...besideOf1x })
      .nullish()
      .meta({ deprecated: true }),
    delivery: delivery.nullish(),
    resume: z.boolean().nullish(),
  })
  .check(
    refinedBy(({ prompt: wrapped, ...body }, context) => {
      const twice = wrapped == null ? undefined : CONTENT.find((member) => body[member] != null)
      if (twice !== undefined) {
        context.addIssue({ code: 'custom', path: [twice], message: 'must not be set together with prompt' })
      } else if (wrapped == null && body.text === undefined) {
        context.addIssue({ code: 'custom', path: ['text'], message: 'is required' })
      }
    }),
  )

type PromptBody = z.output<typeof promptBody>
type Wrapped = NonNullable<PromptBody['prompt']>
type File = NonNullable<Wrapped['files']>[number]
type Agent = NonNullable<Wrapped['agents']>[number]
type Skill = NonNullable<PromptBody['skills']>[number]

/** `newId` is used if the body has no id; it is minted in the gateway, so that a repeated call admits nothing twice. */
function toPromptSession(
  sessionId: string,
  { prompt, ...body }: PromptBody,
  newId: () => string,
): MessageInitShape<typeof PromptSessionRequestSchema> {
  const { text = '', files, agents, skills, metadata } = prompt ?? body
  return {
    sessionId,
    messageId: body.id ?? newId(),
    text,
    files: files?.map(toFile) ?? [],
    agents: agents?.map(toAgent) ?? [],
    skills: skills?.map(toSkill) ?? [],
    parked: body.resume === false,
    metadata: metadata == null ? undefined : toStruct(metadata),
    delivery: body.delivery == null ? undefined : toDelivery(body.delivery),
  }
}

function toFile({ uri, name, description, mention, source }: File) {
  return {
    uri,
    name: name ?? undefined,
    description: description ?? undefined,
    mention: mention ?? source ?? undefined,
  }
}

function toSkill({ id, mention }: Skill) {
  return { skillId: id, mention: mention ?? undefined }
}

function toAgent({ name, mention, source }: Agent) {
  return { name, mention: mention ?? source ?? undefined }
}

const params = z.object({ sessionID: sessionParameter })

/** Time limit of one waiting call, in milliseconds. */
const WAIT_ROUND_MS = 50_000
/** The pause between two of them, so that calls that fail at once do not keep the process busy. */
const WAIT_PAUSE_MS = 50

/** Resolves when the session is idle, however long it takes. Rejects with NOT_READY when the server stops before. */
async function waitUntilIdle(
  session: Clients['session'],
  sessionId: string,
  call: Call,
  lifecycle: Lifecycle,
): Promise<void> {
  const stopped = Promise.withResolvers<never>()
  using _ = lifecycle.onDrain(() => stopped.reject(new Rejection('NOT_READY')))
  try {
    await Promise.race([stopped.promise, waitInRounds(session, sessionId, call)])
  } finally {
    call.end()
  }
}

/** Between processes, every unary call has a deadline, so a longer wait takes several calls. */
async function waitInRounds(session: Clients['session'], sessionId: string, call: Call): Promise<void> {
  for (;;) {
    try {
      await session.waitSession({ sessionId }, call.options())
      return
    } catch (error) {
      if (!(error instanceof ConnectError && error.code === Code.DeadlineExceeded)) throw error
    }
    await delay(WAIT_PAUSE_MS)
  }
}

export const promptSession = operation({
  id: 'session.prompt',
  method: 'post',
  path: '/api/session/{sessionID}/prompt',
  summary: 'Admits one input and starts a run, unless `resume` is false',
  description:
    'A response means that the input is durable. With an id that was sent before, returns the input that it admitted, unless ' +
    `that was cancelled. At most ${mostIn(ListInboxItemsResponseSchema.field.items)} items wait in a session.`,
  params,
  body: promptBody,
  limit: 'promptLimit',
  answer: z.strictObject({ data: inboxUser }),
  errors: [
    'PROMPT_CONFLICT',
    'INBOX_ITEM_CANCELLED',
    'INBOX_FULL',
    'ATTACHMENT_INVALID',
    'REQUEST_INVALID',
    'PEER_UNAVAILABLE',
  ],
  handle: ({ session }, { params, body, call, facade: { clock } }) =>
    session.promptSession(
      toPromptSession(params.sessionID, body, () => timedId('msg', clock)),
      call.options(),
    ),
  present: ({ item }) => ({ data: fromInboxItemOf('user', item) }),
  publicField: (field, { body }) => (body.prompt == null ? field : `prompt.${field}`),
})

export const interruptSession = operation({
  id: 'session.interrupt',
  method: 'post',
  path: '/api/session/{sessionID}/interrupt',
  summary: 'Ends the current run of the session',
  params,
  query: z.object({
    resume: z.enum(['true', 'false']).optional().meta({
      description: 'Whether waiting steers, and a move that is next, have their turn afterwards; default: false',
    }),
  }),
  answer: z.strictObject({ interrupted: z.boolean().meta({ description: 'Whether anything was running' }) }),
  handle: ({ session }, { params, query, call }) =>
    session.interruptSession({ sessionId: params.sessionID, resume: query.resume === 'true' }, call.options()),
  present: ({ interrupted }) => ({ interrupted }),
})

export const resumeSession = operation({
  id: 'session.resume',
  method: 'post',
  path: '/api/session/{sessionID}/resume',
  summary: 'Runs the session without an input, and waits until it is idle',
  description:
    'Parked inputs run, and a run that was interrupted or has failed continues. If the client hangs up, the run goes on.',
  params,
  deadlineMs: WAIT_ROUND_MS,
  answer: noContent,
  handle: async ({ session }, { params, call, facade }) => {
    await session.resumeSession({ sessionId: params.sessionID }, call.options())
    return waitUntilIdle(session, params.sessionID, call, facade.lifecycle)
  },
})

export const waitForSession = waitOperation(
  'experimental.session.wait',
  '/api/experimental/session/{sessionID}/wait',
  'Waits until the session is idle, however long it takes',
)

export const waitForSessionOf1x = waitOperation(
  'session.wait',
  '/api/session/{sessionID}/wait',
  'experimental.session.wait, at the path that clients of 1.x use',
)

function waitOperation(id: string, path: `/${string}{sessionID}/wait`, summary: string) {
  return operation({
    id,
    method: 'post',
    path,
    summary,
    params,
    deadlineMs: WAIT_ROUND_MS,
    answer: noContent,
    handle: ({ session }, { params, call, facade }) => waitUntilIdle(session, params.sessionID, call, facade.lifecycle),
  })
}
