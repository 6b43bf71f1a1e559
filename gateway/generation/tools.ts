import { z } from 'zod'
import { JsonSchemaFormatSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { freeObject, limitedBy } from '../shape.ts'

/** A schema of arguments, or of an answer. */
export const jsonSchema = freeObject('A JSON Schema, interpreted by the provider.')

/** What the input of a tool may be that takes a text. */
export const grammar = z.object({ syntax: z.enum(['lark', 'regex']), definition: z.string() })

const { name } = JsonSchemaFormatSchema.field

/** The name of the object that is wanted as the answer. */
export const formatName = limitedBy(
  name,
  z.string().regex(/^[\w-]+$/, `must have 1 to ${limitOf(name).most} letters, digits, _ or -`),
)

/**
 * Most tools of a list, and most members of the parameters of all of them together, as many as one free-form object may
 * have: to check more would keep every other request waiting.
 */
export const MAX_CHECKED = 50_000

/** Lists are counted before they are looked at. */
export function listProblem(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > MAX_CHECKED ? `has more than ${MAX_CHECKED} items` : undefined
}

/** The problem of a tool that nobody runs here. */
export function toolProblem(type: string): string {
  const short = type.slice(0, 64)
  return type.startsWith('openrouter:')
    ? `the server tool "${short}" is not available here`
    : `tools of the type "${short}" are not supported`
}
