import type { ToolCallPart } from '#gen/portico/inference/v1/inference_pb.js'
import { objectAt, wordAt } from '../http/json.ts'
import type { ChatProfile } from './dialect.ts'

type Proof = Pick<ToolCallPart, 'signature' | 'format'>

/** Members of `extra_content` that contain proofs of calls, and the formats of these: Vertex has used both. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['google', 'google-gemini-v1'],
  ['vertex', 'google-vertex-v1'],
])
const MEMBERS = new Map([...FORMATS].map(([member, format]) => [format, member]))
const MAX_MEMBER = 64

/** The formats of proofs that a server wants back for a model: Google's own servers, or a proxy before them. */
export function proofFormats({ dialect, isGoogle }: ChatProfile, modelId: string): readonly string[] {
  const isBehindProxy = dialect === 'compatible' && /gemini/i.test(modelId)
  return isGoogle || isBehindProxy ? [...FORMATS.values()] : []
}

/** The proof in the `extra_content` of a call. That of an unknown maker is kept, too, but nobody gets it back. */
export function readProof(extra: unknown): Proof {
  for (const [member, value] of Object.entries(objectAt(extra) ?? {})) {
    const signature = wordAt(objectAt(value)?.thought_signature)
    if (signature === undefined) continue
    return { signature, format: FORMATS.get(member) ?? `extra_content.${member.slice(0, MAX_MEMBER)}` }
  }
  return {}
}

/** The members of a call that give its proof back; `formats`: those that the server wants. */
export function writeProof({ signature, format = '' }: Proof, formats: readonly string[]): Record<string, unknown> {
  const member = formats.includes(format) ? MEMBERS.get(format) : undefined
  return signature && member !== undefined ? { extra_content: { [member]: { thought_signature: signature } } } : {}
}
