import { Rejection } from '#shared/rejection.ts'
import { invalid } from '#shared/rpc/parse.ts'
import type { AgentAttachment, FileAttachment, Prompt, SkillAttachment } from '../domain/message.ts'
import type { BlobHold, BlobStore } from '../ports/blob-store.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { PeerCall } from '../ports/peer-call.ts'
import { locationProblem } from '../run/location-problem.ts'

/** What attachments are read with. */
export interface Attaching {
  readonly blobs: BlobStore
  readonly catalog: Catalog
}

/** What is attached to a prompt. */
export type Attached = Pick<Prompt, 'files' | 'skills'>

/** A file as it was sent. */
export type SentFile = Pick<FileAttachment, 'name' | 'description' | 'mention'> & { readonly uri: string }

/** A skill as it was sent. */
export type SentSkill = Pick<SkillAttachment, 'id'> & { readonly mention: SkillAttachment['mention'] | undefined }

/** What a prompt refers to, as it was sent. */
export interface Sent {
  readonly files: readonly SentFile[]
  readonly agents: readonly AgentAttachment[]
  readonly skills: readonly SentSkill[]
}

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
  { files, agents, skills }: Sent,
  hold: BlobHold,
): Promise<Attached> {
  const names = agents.map(({ name }) => name)
  await Promise.all([...new Set(names)].map((name) => findAgent(catalog, call, directory, name, names.indexOf(name))))
  const known = await readSkills(catalog, call, directory, skills)
  const attachments: FileAttachment[] = []
  let size = 0
  for (const input of files) {
    const attachment = await readFile(blobs, catalog, call, directory, input, hold)
    size += attachment.blob.size
    if (size > MAX_FILES_SIZE) {
      throw new Rejection('ATTACHMENT_INVALID', {
        problem: `The files of a prompt must not exceed ${MAX_FILES_SIZE} bytes together`,
      })
    }
    attachments.push(attachment)
  }
  return { files: attachments, skills: known.length > 0 ? known : undefined }
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
  skills: readonly SentSkill[],
): Promise<SkillAttachment[]> {
  const read = async (id: string) =>
    catalog.getSkill(call, directory, id).catch((error: unknown) => {
      throw unfound(error, directory, 'SKILL_NOT_FOUND', 'skills', `Skill not found: ${id.slice(0, 256)}`)
    })
  const ids = skills.map(({ id }) => id)
  const known = new Map(await Promise.all([...new Set(ids)].map(async (id) => [id, await read(id)] as const)))
  return skills.flatMap(({ id, mention }, i) => {
    const skill = known.get(id)
    if (skill === undefined) return []
    const { name, text } = skill
    return [{ id, name, text: ids.indexOf(id) === i ? text : undefined, mention }]
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
  { uri, name, description, mention }: SentFile,
  hold: BlobHold,
): Promise<FileAttachment> {
  const file = await catalog.readAttachment(call, directory, uri).catch((error: unknown) => {
    const problem = locationProblem(error, directory)
    throw problem === undefined ? error : new Rejection('ATTACHMENT_INVALID', { problem }, { cause: error })
  })
  const { hash, size } = await blobs.put(call.principal.workspaceId, file.data, hold)
  return {
    blob: { hash, size },
    mime: file.mime,
    uri: uri.startsWith('data:') ? undefined : uri,
    name: name ?? file.name,
    description,
    mention,
  }
}
