import {
  type ProviderExtension as ExtensionMessage,
  ProviderExtensionSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import type { ProviderExtension } from '../domain/generation.ts'

const checkExtension = checkLimits(ProviderExtensionSchema)
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/

/** Parses headers of a provider request; rejects with REQUEST_INVALID. */
export function parseHeaders(
  headers: Readonly<Record<string, string>>,
  field: string,
): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    check(HEADER_NAME.test(name) && HEADER_VALUE.test(value), field, 'must be HTTP headers')
  }
  return headers
}

/** Parses members for one kind of provider each; rejects with REQUEST_INVALID. */
export function parseExtensions(extensions: readonly ExtensionMessage[]): ProviderExtension[] {
  const formats = new Set<string>()
  return extensions.map((extension, i) => {
    const field = `extensions[${i}]`
    const { format, body } = extension
    checkExtension(extension, field)
    check(format !== '', `${field}.format`, 'must not be empty')
    check(!formats.has(format), `${field}.format`, 'must be unique')
    formats.add(format)
    return { format, headers: parseHeaders(extension.headers, `${field}.headers`), body }
  })
}
