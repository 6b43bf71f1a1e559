import { create } from '@bufbuild/protobuf'
import type { Agent, ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Delivery, PromptSchema, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { admit } from '#services/session/domain/inbox/inputs.ts'
import { newSession } from '#services/session/domain/new-session.ts'
import { interruptRun } from '#services/session/domain/run.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import type { TaskInput } from '#services/session/domain/subagent/task-input.ts'
import { nothing } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import type { RunContext } from '../run-context.ts'

/** Characters of a description that are in a title. */
const MOST_TITLE = 200

/** The child session to create for a tool call. */
export interface Child {
  readonly id: string
  /** Id of the prompt; it is derived from the call, so that the prompt is admitted once. */
  readonly promptId: string
  readonly task: TaskInput
  readonly agent: Pick<Agent, 'agentId' | 'model'>
  /** The model of the step that calls. */
  readonly model: ModelRef
}

/**
 * Creates the child session of a tool call, unless it exists, and admits its prompt, unless it was admitted. Both may
 * be repeated; the session is only created under the lease of its parent. Returns why the prompt cannot be admitted.
 */
export async function beginChild(run: RunContext, child: Child): Promise<StructuredError | undefined> {
  const { store, tenure, session, principal } = run
  const { id, promptId, task, agent, model } = child
  const key = { workspace: tenure.lease.workspace, sessionId: id }
  if (task.former === undefined) {
    const { directory, projectId, subpath } = session
    const input = create(SessionSchema, {
      sessionId: id,
      parentId: session.sessionId,
      title: titleOf(task, agent.agentId),
      agent: agent.agentId,
      model: agent.model === undefined ? model : undefined,
      directory,
      projectId,
      subpath,
    })
    await store.createSession(key, (...made) => newSession(input, ...made), tenure.lease)
  }
  const admission = {
    id: promptId,
    payload: { case: 'prompt', value: create(PromptSchema, { text: task.prompt }) },
    delivery: Delivery.QUEUE,
    digest: 'task',
    admitter: principal,
    wake: true,
  } as const
  const admitted = await store.revise(
    key,
    (reads) => reads.admissionReads(promptId),
    (revision, reads) => reads.taken !== undefined || typeof admit(revision, reads, admission) !== 'string',
  )
  return admitted
    ? undefined
    : structuredError('task.refused', 'Too many prompts are waiting in the session of the task')
}

function titleOf({ description }: TaskInput, agent: string): string {
  return `${description.slice(0, MOST_TITLE)} (@${agent} subagent)`.trim().toWellFormed()
}

/** Interrupts a session, and with it those below it, if it exists. */
export async function interruptChild({ store, tenure }: Pick<RunContext, 'store' | 'tenure'>, sessionId: string) {
  try {
    const key = { workspace: tenure.lease.workspace, sessionId }
    await store.revise(key, nothing, (revision) => interruptRun(revision))
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Whether there is no such session. */
export function isGone(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'SESSION_NOT_FOUND'
}
