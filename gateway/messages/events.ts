import { z } from 'zod'
import { errorSchemas } from '../errors/schemas.ts'
import { freeObject } from '../shape.ts'
import { contentBlock, ending, messageObject, usage } from './answer.ts'

const index = z.int()

function delta<T extends string, S extends z.core.$ZodLooseShape>(type: T, members: S) {
  return z.strictObject({ type: z.literal(type), ...members })
}

const deltas = z.discriminatedUnion('type', [
  delta('text_delta', { text: z.string() }),
  delta('input_json_delta', { partial_json: z.string() }),
  delta('thinking_delta', { thinking: z.string() }),
  delta('signature_delta', { signature: z.string() }),
  delta('citations_delta', { citation: freeObject('In Anthropic’s form, by its type.') }),
])

/** One event of a stream of `POST /api/v1/messages`. */
export const messageEvent = z
  .union([
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('message_start'), message: messageObject }),
      z.strictObject({ type: z.literal('ping') }),
      z.strictObject({ type: z.literal('content_block_start'), index, content_block: contentBlock }),
      z.strictObject({ type: z.literal('content_block_delta'), index, delta: deltas }),
      z.strictObject({ type: z.literal('content_block_stop'), index }),
      // As of a message, further members come as they are.
      z.looseObject({ type: z.literal('message_delta'), delta: ending, usage }),
      z.strictObject({
        type: z.literal('message_stop'),
        openrouter_metadata: messageObject.shape.openrouter_metadata,
      }),
    ]),
    errorSchemas.messages,
  ])
  .meta({ id: 'Messages.Event' })

export type Delta = z.input<typeof deltas>
