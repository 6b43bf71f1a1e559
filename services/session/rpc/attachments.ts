import { create } from '@bufbuild/protobuf'
import {
  type FileAttachment,
  FileAttachmentSchema,
  type FileInput,
  type Prompt,
  type SkillAttachment,
  SkillAttachmentSchema,
  type SkillInput,
} from '#gen/portico/session/v1/session_pb.js'
import type { PromptSessionRequest } from '#gen/portico/session/v1/session_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { invalid } from '#shared/rpc/parse.ts'
import { blobIn } from '../domain/message.ts'
import type { BlobHold, BlobStore } from '../ports/blob-store.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { PeerCall } from '../ports/peer-call.ts'
import { locationProblem } from '../run/location-problem.ts'

export interface Attaching {
  readonly blobs: BlobStore
  readonly catalog: Catalog
}

export type Attached = Pick<Prompt, 'files' | 'skills'>

/** Maximum size of all files of one prompt, in bytes: a message that contains them must stay below 64 MiB. */
const MAX_FILES_SIZE = 40 * 1_048_576

/**
 * Looks up the named agents, and reads files and skills in the directory of the session. Rejects with REQUEST_INVALID
 * for an agent or a skill that does not exist, and with ATTACHMENT_INVALID for a file that cannot be read.
 */
export async function prepareAttachments(
  { blobs, catalog }: Attaching,
  call: PeerCall,
  directory: string,
  { files, agents, skills }: PromptSessionRequest,
  hold: BlobHold,
): Promise<Attached> {
  const names = agents.map(({ name }) => name)
  await Promise.all([...new Set(names)].map((name) => findAgent(catalog, call, directory, name, names.indexOf(name))))
  const contents = await readSkills(catalog, call, directory, skills)
  const attachments: FileAttachment[] = []
  let size = 0
  for (const input of files) {
    const attachment = await readFile(blobs, catalog, call, directory, input, hold)
    for (const blob of blobIn(attachment)) size += blob.size
    if (size > MAX_FILES_SIZE) {
      throw new Rejection('ATTACHMENT_INVALID', {
        problem: `The files of a prompt must not exceed ${MAX_FILES_SIZE} bytes together`,
      })
    }
    attachments.push(attachment)
  }
  return { files: attachments, skills: contents }
}

async function findAgent(catalog: Catalog, call: PeerCall, directory: string, name: string, i: number): Promise<void> {
  await catalog.getAgent(call, directory, name).catch((error: unknown) => {
    throw unfound(error, directory, 'AGENT_NOT_FOUND', `agents[${i}].name`, `Agent not found: ${name}`)
  })
}

/** The skills with their texts, each text once. */
async function readSkills(
  catalog: Catalog,
  call: PeerCall,
  directory: string,
  skills: readonly SkillInput[],
): Promise<SkillAttachment[]> {
  const read = async (id: string) =>
    catalog.getSkill(call, directory, id).catch((error: unknown) => {
      throw unfound(error, directory, 'SKILL_NOT_FOUND', 'skills', `Skill not found: ${id.slice(0, 256)}`)
    })
  const ids = skills.map(({ skillId }) => skillId)
  const texts = new Map(await Promise.all([...new Set(ids)].map(async (id) => [id, await read(id)] as const)))
  return skills.flatMap(({ skillId, mention }, i) => {
    const skill = texts.get(skillId)
    if (skill === undefined) return []
    const text = ids.indexOf(skillId) === i ? skill.text : undefined
    return [create(SkillAttachmentSchema, { skillId, name: skill.name, text, mention })]
  })
}

/** The rejection for something that the catalog did not find, or could not look for. */
function unfound(error: unknown, directory: string, reason: string, field: string, problem: string): unknown {
  const missing = error instanceof Rejection && error.reason === reason ? problem : locationProblem(error, directory)
  return missing === undefined ? error : invalid(field, missing)
}

async function readFile(
  blobs: BlobStore,
  catalog: Catalog,
  call: PeerCall,
  directory: string,
  { uri, name, description, mention }: FileInput,
  hold: BlobHold,
): Promise<FileAttachment> {
  const file = await catalog.readAttachment(call, directory, uri).catch((error: unknown) => {
    const problem = locationProblem(error, directory)
    throw problem === undefined ? error : new Rejection('ATTACHMENT_INVALID', { problem }, { cause: error })
  })
  const blob = await blobs.put(call.principal.workspaceId, file.data, hold)
  return create(FileAttachmentSchema, {
    source: { case: 'blob', value: blob },
    mime: file.mime,
    uri: uri.startsWith('data:') ? undefined : uri,
    name: name ?? file.name,
    description,
    mention,
  })
}
