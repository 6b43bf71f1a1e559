import type { ServiceImpl } from '@connectrpc/connect'
import type { PromptSessionRequest, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { admitPrompt } from '#services/session/domain/inbox/inputs.ts'
import type { AdmissionReads } from '#services/session/domain/inbox.ts'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '#services/session/domain/message/size.ts'
import type { Revision } from '#services/session/domain/revision.ts'
import { nothing, type SessionReads, type SessionStore } from '#services/session/ports/session-store.ts'
import { holdingBlobs } from '#services/session/run/lifetime/holding-blobs.ts'
import type { PromptHooks } from '#services/session/run/prompt-hooks.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { findContents, missingBlob } from '../blob-contents.ts'
import { parseMessageId } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { blobsOfItem, itemToProto } from './item-to-proto.ts'
import { checkAdmitted, digestOf, parseDelivery } from './parse-admission.ts'
import { type ParsedPrompt, parsePrompt } from './parse-prompt.ts'
import { type Attached, type Attaching, prepareAttachments } from './prepare-attachments.ts'
import { editable, withEdits } from './prompt-edits.ts'

interface Dependencies extends Attaching {
  readonly store: SessionStore
  readonly promptHooks: PromptHooks
}

const NO_FILES: Attached = { files: [] }

/**
 * Admits one input: plugins may change it first, then its files and skills are read and stored. The response means that
 * all of it is durable. For an id that was admitted before, the response comes from the store, and nothing is read
 * again.
 */
export function promptSession(dependencies: Dependencies): ServiceImpl<typeof SessionService>['promptSession'] {
  const { store, blobs, promptHooks } = dependencies
  return async (request, context) => {
    const admitter = principalOf(context)
    const { sessionId } = request
    const key = { workspace: admitter.workspaceId, sessionId }
    const id = parseMessageId(request.messageId)
    const call = peerCallOf(context)
    const asSent = parsePrompt(request)
    checkSize(asSent, NO_FILES)
    const known = { id, digest: digestOf(sentBy(request)), admitter, wake: !request.parked }
    const admissionReads = (reads: SessionReads) => reads.admissionReads(id)
    const admit = (
      revision: Revision,
      reads: AdmissionReads,
      { words, delivery }: ParsedPrompt,
      attached: Attached,
    ) => {
      const admission = { ...known, delivery, prompt: { ...words, ...attached } }
      return checkAdmitted(admitPrompt(revision, reads, admission), sessionId, id)
    }
    const attachAndAdmit = (directory: string, parsed: ParsedPrompt) =>
      holdingBlobs(blobs, async (hold) => {
        const attached = await prepareAttachments(dependencies, call, directory, parsed.sent, hold)
        checkSize(parsed, attached)
        return await store.revise(key, admissionReads, (revision, reads) => admit(revision, reads, parsed, attached))
      })
    const admitIn = async (directory: string) => {
      const edited = await promptHooks.edit(call, { directory, sessionId }, editable(request), (wanted) =>
        attachAndAdmit(directory, parsePrompt(withEdits(request, wanted))),
      )
      return edited ?? (await attachAndAdmit(directory, asSent))
    }

    // An id that was admitted before, and a text that no plugin changes, need nothing but the store.
    const first = await store.revise(key, admissionReads, (revision, reads) => {
      const { directory } = revision.state
      const isReady = reads.taken !== undefined || (isWords(asSent) && promptHooks.areNone(key.workspace, directory))
      return isReady ? admit(revision, reads, asSent, NO_FILES) : directory
    })
    const item = typeof first === 'string' ? await admitIn(first) : first
    const { contents, missing } = await findContents(blobs, key.workspace, blobsOfItem(item))
    if (missing === undefined) return { item: itemToProto(item, contents) }
    // If the session was removed meanwhile, it is no longer found.
    await store.inspect(key, nothing, nothing)
    throw missingBlob(key, missing)
  }
}

/** What has to be the same when an id is sent again. Whether it wakes the session may differ. */
function sentBy({ text, files, agents, skills, metadata, delivery }: PromptSessionRequest): readonly unknown[] {
  const sent = [text, files, agents, metadata ?? null, parseDelivery(delivery)]
  // Digests that were stored by versions without skills stay valid.
  return skills.length === 0 ? sent : [...sent, skills]
}

function isWords({ sent }: ParsedPrompt): boolean {
  return sent.files.length === 0 && sent.agents.length === 0 && sent.skills.length === 0
}

function checkSize({ words }: ParsedPrompt, attached: Attached): void {
  const field = attached.skills === undefined ? 'text' : 'skills'
  const fits = fitsAsJson({ ...words, ...attached }, MAX_MESSAGE_BYTES)
  check(
    fits,
    field,
    `must have at most ${MAX_MESSAGE_BYTES} bytes together with the descriptions of files, agents and skills`,
  )
}
