import { createScanner, type ParseError, parse } from 'jsonc-parser'
import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { wellFormed } from '#shared/well-formed.ts'

/** Maximum size of a configuration document. */
export const MAX_DOCUMENT_BYTES = 1 << 20

/** What parses and checks a document calls itself for each level. */
const MAX_DEPTH = 100
const END_OF_TEXT = 17

/** Parses a configuration document: JSON with comments and trailing commas. Throws DocumentError. */
export function parseDocument(document: string): unknown {
  const errors: ParseError[] = []
  const text = document.replace(/^\uFEFF/, '')
  requireShallow(text)
  const value: unknown = parse(text, errors, { allowTrailingComma: true })
  if (errors[0] !== undefined) throw new DocumentError(`not valid JSON ${placeOf(text, errors[0].offset)}`)
  return wellFormed(value)
}

function requireShallow(text: string): void {
  const scanner = createScanner(text, true)
  let depth = 0
  while (scanner.scan() !== END_OF_TEXT) {
    const offset = scanner.getTokenOffset()
    const first = text[offset]
    if (first === '{' || first === '[') depth += 1
    else if (first === '}' || first === ']') depth -= 1
    if (depth > MAX_DEPTH) throw new DocumentError(`nested more than ${MAX_DEPTH} levels deep ${placeOf(text, offset)}`)
  }
}

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  return `at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
