import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type EditedPrompt, EditedPromptSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  AgentAttachmentSchema,
  Delivery,
  FileInputSchema,
  type Prompt,
  PromptSchema,
  SkillInputSchema,
} from '#gen/portico/session/v1/session_pb.js'
import {
  type PromptSessionRequest,
  PromptSessionRequestSchema,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkAllLimits } from '#shared/rpc/field-limits.ts'
import { check, isWithin } from '#shared/rpc/parse.ts'
import { admit } from '../domain/inbox/inputs.ts'
import { type AdmissionReads, blobsOfItem } from '../domain/inbox.ts'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '../domain/message-size.ts'
import type { Revision } from '../domain/revision.ts'
import { nothing, type SessionReads } from '../ports/session-store.ts'
import { holdingBlobs } from '../run/lifetime/holding-blobs.ts'
import { checkAdmitted, digestOf, MAX_TEXT_LENGTH, parseDelivery } from './admission.ts'
import { type Attached, prepareAttachments } from './attachments.ts'
import { findContents, itemWithContents, missingBlob } from './blob-contents.ts'
import type { SessionDependencies } from './dependencies.ts'
import { parseMessageId, parseMetadata } from './parse.ts'
import { peerCallOf } from './peer-call.ts'

const NOTHING: Attached = { files: [], skills: [] }
const checkRequest = checkAllLimits(PromptSessionRequestSchema)

export function promptHandlers(dependencies: SessionDependencies) {
  const { store, blobs, promptHooks } = dependencies
  return {
    /**
     * Admits one input: plugins may change it first, then its files and skills are read and stored. The response means
     * that all of it is durable. For an id that was admitted before, the response comes from the store, and nothing is
     * read again.
     */
    async promptSession(request, context) {
      const admitter = principalOf(context)
      const { sessionId } = request
      const key = { workspace: admitter.workspaceId, sessionId }
      const id = parseMessageId(request.messageId)
      const call = peerCallOf(context)
      checkPrompt(request)
      const asText = promptOf(request, NOTHING)
      const digest = digestOf(sentBy(request))
      const admissionReads = (reads: SessionReads) => reads.admissionReads(id)
      const decide = (revision: Revision, reads: AdmissionReads, prompt: Prompt, wanted = request.delivery) => {
        const payload = { case: 'prompt', value: prompt } as const
        const admission = { id, payload, delivery: parseDelivery(wanted), digest, admitter, wake: !request.parked }
        return checkAdmitted(admit(revision, reads, admission), sessionId, id)
      }
      const attachAndAdmit = (directory: string, edited: PromptSessionRequest) =>
        holdingBlobs(blobs, async (hold) => {
          const prompt = promptOf(edited, await prepareAttachments(dependencies, call, directory, edited, hold))
          return store.revise(key, admissionReads, (revision, reads) =>
            decide(revision, reads, prompt, edited.delivery),
          )
        })
      const admitIn = async (directory: string) => {
        const item = await promptHooks.edit(call, { directory, sessionId }, editable(request), (wanted) => {
          const edited = withEdits(request, wanted)
          checkPrompt(edited)
          return attachAndAdmit(directory, edited)
        })
        return item ?? (await attachAndAdmit(directory, request))
      }

      // An id that was admitted before, and a text that no plugin changes, need nothing but the store.
      const first = await store.revise(key, admissionReads, (revision, reads) => {
        const { directory } = revision.state
        const isReady = reads.taken !== undefined || (isText(request) && promptHooks.areNone(key.workspace, directory))
        return isReady ? decide(revision, reads, asText) : directory
      })
      const item = typeof first === 'string' ? await admitIn(first) : first
      const { contents, missing } = await findContents(blobs, key.workspace, blobsOfItem(item))
      if (missing === undefined) return { item: itemWithContents(item, contents) }
      // If the session was removed meanwhile, it is no longer found.
      await store.inspect(key, nothing, nothing)
      throw missingBlob(key, missing)
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

/** What has to be the same when an id is sent again. Whether it wakes the session may differ. */
function sentBy({ text, files, agents, skills, metadata, delivery }: PromptSessionRequest): readonly unknown[] {
  return [text, files, agents, skills, metadata ?? null, parseDelivery(delivery)]
}

function isText({ files, agents, skills }: PromptSessionRequest): boolean {
  return files.length === 0 && agents.length === 0 && skills.length === 0
}

function promptOf({ text, agents, metadata }: PromptSessionRequest, attached: Attached): Prompt {
  const prompt = create(PromptSchema, { text, agents, metadata, ...attached })
  check(
    fitsAsJson(prompt, MAX_MESSAGE_BYTES),
    attached.skills.length === 0 ? 'text' : 'skills',
    `must have at most ${MAX_MESSAGE_BYTES} bytes together with the descriptions of files, agents and skills`,
  )
  return prompt
}

/** Rejects with REQUEST_INVALID. */
function checkPrompt(request: PromptSessionRequest): void {
  checkRequest(request)
  parseMetadata(request.metadata)
  parseDelivery(request.delivery)
  // The texts that mentions quote must not be longer, in total, than a prompt may be.
  const { files, agents, skills } = request
  const texts = [...files, ...agents, ...skills].map(({ mention }) => mention?.text ?? '')
  const fit = isWithin(texts.join(''), 0, MAX_TEXT_LENGTH)
  check(fit, 'text', `must not be quoted by mentions with more than ${MAX_TEXT_LENGTH} characters in total`)
}

/** What plugins are shown of a prompt. */
function editable({ text, files, agents, skills, metadata, delivery }: PromptSessionRequest): EditedPrompt {
  return create(EditedPromptSchema, {
    text,
    metadata,
    queued: parseDelivery(delivery) === Delivery.QUEUE,
    files: files.map(({ uri, name, description }) => ({ uri, name, description })),
    agents: agents.map(({ name }) => name),
    skills: skills.map(({ skillId }) => skillId),
  })
}

/**
 * The prompt as the plugins want it. Mentions of files, agents and skills are kept; of several with the same name, each
 * keeps its own.
 */
function withEdits(request: PromptSessionRequest, wanted: EditedPrompt): PromptSessionRequest {
  const { text, metadata, queued } = wanted
  const files = [...request.files]
  const agents = [...request.agents]
  const skills = [...request.skills]
  return create(PromptSessionRequestSchema, {
    ...request,
    text,
    metadata,
    delivery: queued ? Delivery.QUEUE : Delivery.STEER,
    files: wanted.files.map(({ uri, name, description }) => {
      const mention = take(files, (file) => file.uri === uri)?.mention
      return create(FileInputSchema, { uri, name, description, mention })
    }),
    agents: wanted.agents.map(
      (name) => take(agents, (agent) => agent.name === name) ?? create(AgentAttachmentSchema, { name }),
    ),
    skills: wanted.skills.map(
      (skillId) => take(skills, (skill) => skill.skillId === skillId) ?? create(SkillInputSchema, { skillId }),
    ),
  })
}

/** Removes the first match from a list, and returns it. */
function take<T>(from: T[], isSought: (one: T) => boolean): T | undefined {
  const at = from.findIndex(isSought)
  return at < 0 ? undefined : from.splice(at, 1)[0]
}
