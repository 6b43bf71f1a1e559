import type { ServiceImpl } from '@connectrpc/connect'
import {
  type FileInput,
  FileInputSchema,
  type SkillInput,
  SkillInputSchema,
} from '#gen/portico/session/v1/session_pb.js'
import {
  type PromptSessionRequest,
  PromptSessionRequestSchema,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import { admitPrompt } from '#services/session/domain/inbox/inputs.ts'
import type { Delivery } from '#services/session/domain/inbox.ts'
import type { Mention, Prompt } from '#services/session/domain/message.ts'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '#services/session/domain/messages/size.ts'
import { nothing } from '#services/session/ports/session-store.ts'
import { holdingBlobs } from '#services/session/run/lifetime/holding-blobs.ts'
import type { PromptHooks } from '#services/session/run/prompt-hooks.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, isWithin, parseText } from '#shared/rpc/parse.ts'
import { findContents, missingBlob } from '../blob-contents.ts'
import { parseAgentName, parseMessageId, parseMetadata } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { blobsOfItem, itemToProto } from './item-to-proto.ts'
import { checkAdmitted, digestOf, MAX_TEXT_LENGTH, parseDelivery } from './parse-admission.ts'
import { type Attaching, prepareAttachments, type SentFile, type SentSkill } from './prepare-attachments.ts'
import { editable, withEdits } from './prompt-edits.ts'

const checkRequest = checkLimits(PromptSessionRequestSchema)
const checkFile = checkLimits(FileInputSchema)
const checkSkill = checkLimits(SkillInputSchema)

/**
 * Admits one input. Files and skills are read and kept before the admission; the answer means that all of it is durable. An id that
 * was admitted before is answered from the store, and nothing of it is read again.
 */
export function promptSession(dependencies: Prompting): ServiceImpl<typeof SessionService>['promptSession'] {
  const { store, blobs, promptHooks } = dependencies
  return async (request, context) => {
    const admitter = principalOf(context)
    const { workspaceId } = admitter
    const { sessionId } = request
    const id = parseMessageId(request.messageId)
    const call = peerCallOf(context)
    const known = { id, digest: digestOf(sentBy(request)), admitter, wake: !request.parked }
    /** The item; or the directory whose plugins are asked first, with nothing written. */
    const admit = ({ words, delivery, sent }: Parsed, isAsked: (directory: string) => boolean) =>
      holdingBlobs(blobs, async (hold) => {
        const attached = await prepareAttachments(dependencies, call, { sessionId, messageId: id, isAsked }, sent, hold)
        if ('directory' in attached) return attached
        const prompt = { ...words, ...attached }
        const field = prompt.skills === undefined ? 'text' : 'skills'
        const fits = fitsAsJson(prompt, MAX_MESSAGE_BYTES)
        check(
          fits,
          field,
          `must have at most ${MAX_MESSAGE_BYTES} bytes together with what is said of files, agents and skills`,
        )
        return store.revise(
          { workspace: workspaceId, sessionId },
          (reads) => reads.admissionReads(id),
          (revision, reads) => {
            const { directory } = revision.state
            if (reads.taken === undefined && isAsked(directory)) return { directory }
            return checkAdmitted(admitPrompt(revision, reads, { ...known, delivery, prompt }), sessionId, id)
          },
        )
      })
    const parsed = parse(request)
    let item = await admit(parsed, promptHooks.asOfNow(workspaceId))
    if ('directory' in item) {
      const place = { ...item, sessionId }
      const edited = await promptHooks.edit(call, place, editable(request), (wanted) =>
        admit(parse(withEdits(request, wanted)), () => false),
      )
      item = edited ?? (await admit(parsed, () => false))
    }
    if ('directory' in item) throw new Error('Plugins are asked once')
    const { contents, missing } = await findContents(blobs, workspaceId, blobsOfItem(item))
    if (missing === undefined) return { item: itemToProto(item, contents) }
    // Whoever removes the session at the same time comes after the admission, or before it.
    await store.inspect({ workspace: workspaceId, sessionId }, nothing, nothing)
    throw missingBlob(missing)
  }
}

interface Prompting extends Attaching {
  readonly promptHooks: PromptHooks
}

/** A prompt that is of the right form. */
interface Parsed {
  readonly words: Pick<Prompt, 'text' | 'agents' | 'metadata'>
  readonly delivery: Delivery
  readonly sent: Parameters<typeof prepareAttachments>[3]
}

function parse(request: PromptSessionRequest): Parsed {
  checkRequest(request)
  const words = parsePrompt(request)
  const sent = { files: parseFiles(request.files), agents: words.agents, skills: parseSkills(request.skills) }
  checkMentions(sent)
  return { words, delivery: parseDelivery(request.delivery), sent }
}

/** What an id stands for. Whether it wakes the session may differ when it is sent again. */
function sentBy({ text, files, agents, skills, metadata, delivery }: PromptSessionRequest): readonly unknown[] {
  const sent = [text, files, agents, metadata ?? null, parseDelivery(delivery)]
  // Digests in stores of versions without skills stay as they are.
  return skills.length === 0 ? sent : [...sent, skills]
}

function parsePrompt(request: PromptSessionRequest): Pick<Prompt, 'text' | 'agents' | 'metadata'> {
  const { agents } = request
  return {
    text: request.text,
    agents: agents.map(({ name, mention }, i) => ({
      name: parseAgentName(`agents[${i}].name`, name),
      mention: parseMention(`agents[${i}].mention`, mention),
    })),
    metadata: parseMetadata(request.metadata),
  }
}

/** What mentions repeat of the text is no longer, together, than that may be. */
function checkMentions({ files, agents, skills }: Parsed['sent']): void {
  const texts = [...files, ...agents, ...skills].map(({ mention }) => mention?.text ?? '')
  const fit = isWithin(texts.join(''), 0, MAX_TEXT_LENGTH)
  check(fit, 'text', `must not be quoted by mentions with more than ${MAX_TEXT_LENGTH} characters in total`)
}

function parseMention(field: string, mention: Mention | undefined): Mention | undefined {
  if (mention === undefined) return undefined
  const { start, end, text } = mention
  return { start, end, text: parseText(`${field}.text`, text, 0, MAX_TEXT_LENGTH) }
}

function parseFiles(files: readonly FileInput[]): readonly SentFile[] {
  return files.map((file, i) => {
    checkFile(file, `files[${i}]`)
    const { uri, name, description, mention } = file
    return { uri, name, description, mention: parseMention(`files[${i}].mention`, mention) }
  })
}

function parseSkills(skills: readonly SkillInput[]): readonly SentSkill[] {
  return skills.map((skill, i) => {
    checkSkill(skill, `skills[${i}]`)
    return { id: skill.skillId, mention: parseMention(`skills[${i}].mention`, skill.mention) }
  })
}
