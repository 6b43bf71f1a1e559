import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Part, PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { openItem, sealItem } from '../generation/sealed-item.ts'
import { openProof, sealProof } from '../generation/thought.ts'
import { NATIVE } from './hosted.ts'
import type { InputItem } from './input.ts'
import type { ReasoningItem } from './output.ts'

type PartOf<C extends string> = Extract<Part['part'], { case: C }>['value']

/** The form of ids that this dialect assigns to thoughts without one; they mean nothing to the provider. */
const OWN_ID = /^rs_[0-9A-Za-z]{24}_\d+$/
/** Marks a signature that is sent as `encrypted_content`, which clients preserve. */
const SIGNATURE = 'signature:'

/**
 * The opaque data of a thought. `encrypted_content` includes its maker, unless that is this dialect's own kind: some
 * clients preserve nothing else, not even a signature, which is therefore sent there if nothing is encrypted.
 */
export function fromProof({ encrypted, signature, format }: PartOf<'reasoning'>) {
  const opaque = encrypted || (signature ? SIGNATURE + signature : '')
  return {
    encrypted_content: opaque === '' ? undefined : sealProof(format || undefined, opaque, NATIVE),
    signature: signature || undefined,
    format: format || undefined,
  }
}

/** An item that no client of this dialect knows: to clients it is an encrypted thought. */
export function fromOtherItem({ format, item = {} }: PartOf<'foreign'>): Pick<ReasoningItem, 'encrypted_content'> {
  // Marked even if this dialect's own kind made it, since clients do not know it either way.
  return { encrypted_content: sealProof(format, sealItem(item), '') }
}

/** The part that a reasoning item of a history is; undefined: it says nothing. */
export function toThought(
  item: Extract<InputItem, { type: 'reasoning' }>,
): Pick<MessageInitShape<typeof PartSchema>, 'part'> | undefined {
  const opened = item.encrypted_content ? openProof(item.encrypted_content, NATIVE) : undefined
  const format = item.format || opened?.format
  const foreign = opened === undefined ? undefined : openItem(opened.proof)
  if (foreign !== undefined) return { part: { case: 'foreign', value: { format: format ?? '', item: foreign } } }
  const sealed = opened?.proof.startsWith(SIGNATURE) === true ? opened.proof.slice(SIGNATURE.length) : undefined
  const value = {
    text: item.content?.map((part) => part.text).join('') || undefined,
    summary: item.summary?.map((part) => part.text).join('\n\n') || undefined,
    signature: item.signature || sealed || undefined,
    encrypted: sealed === undefined ? opened?.proof : undefined,
  }
  if (Object.values(value).every((member) => member === undefined)) return undefined
  const id = item.id == null || OWN_ID.test(item.id) ? undefined : item.id
  return { part: { case: 'reasoning', value: { ...value, id, format: format ?? undefined } } }
}
