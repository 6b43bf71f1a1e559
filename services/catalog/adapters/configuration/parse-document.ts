import { type ParseError, parse } from 'jsonc-parser'
import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { wellFormed } from '#shared/well-formed.ts'

/** Maximum size of a configuration document. */
export const MAX_DOCUMENT_BYTES = 1 << 20

/** Parses a configuration document: JSON with comments and trailing commas. Throws DocumentError. */
export function parseDocument(document: string): unknown {
  const errors: ParseError[] = []
  const text = document.replace(/^\uFEFF/, '')
  const value: unknown = parse(text, errors, { allowTrailingComma: true })
  if (errors[0] !== undefined) throw new DocumentError(`not valid JSON ${placeOf(text, errors[0].offset)}`)
  return wellFormed(value)
}

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  return `at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
