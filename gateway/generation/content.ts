import { z } from 'zod'
import { MessageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitedBy, mustBe } from '../shape.ts'

/** Content of a message: a text, or a list of parts by the dialect's own name. */
export function textOr<P extends z.ZodType>(part: P, name: 'parts' | 'blocks') {
  return z.union(
    [z.string(), limitedBy(MessageSchema.field.parts, z.array(part))],
    mustBe(`a string or an array of ${name}`),
  )
}
