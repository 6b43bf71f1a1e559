import { parseDocument } from 'yaml'
import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { wellFormed } from '#shared/well-formed.ts'
import { readBounded } from '../files/read-bounded.ts'

/**
 * Splits a Markdown text into the YAML between its first two `---` lines and the body, both trimmed. A text that does
 * not begin with such a line is all body, and so is one whose front matter does not end.
 */
export function splitFrontMatter(text: string): { readonly matter: string; readonly body: string } {
  const normal = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  if (!normal.startsWith('---\n')) return { matter: '', body: normal.trim() }
  const end = normal.startsWith('---\n', 4) || normal === '---\n---' ? 3 : normal.search(/\n---[ \t]*(\n|$)/)
  if (end === -1) return { matter: '', body: normal.trim() }
  const afterFence = normal.indexOf('\n', end + 1)
  return { matter: normal.slice(4, Math.max(4, end)), body: afterFence === -1 ? '' : normal.slice(afterFence).trim() }
}

/** In characters. The time to parse YAML grows with their square, up to 20 s for 256 KiB of quotes. */
const MAX_MATTER = 16 << 10

/**
 * A top-level key with a value on the same line, which is neither quoted nor a block, nor a collection that does not
 * end there.
 */
const PLAIN_VALUE = /^([A-Za-z_][\w-]*):[ \t]+(?![\s"'|>#]|[[{][^\]}\n]*$)(.*[^[{,\s])[ \t]*$/gm

/**
 * Reads a Markdown file of at most `limit` bytes: its front matter, which is YAML of at most 16,384 characters
 * (undefined or null: none), and its text. If the front matter is not valid YAML, a value that is invalid by itself is
 * taken as text (`description: Use when: a release is due`), as OpenCode and Claude Code do. Throws if that does not
 * help; the message names the line in the file.
 */
export async function readMarkdown(
  path: string,
  limit: number,
): Promise<{ readonly fields: unknown; readonly body: string }> {
  const { matter, body } = splitFrontMatter((await readBounded(path, limit)).toString())
  if (matter.length > MAX_MATTER) throw new DocumentError(`the front matter has more than ${MAX_MATTER} characters`)
  const read = (text: string): { readonly fields: unknown } | { readonly problem: string } => {
    try {
      const document = parseDocument(text)
      // An unknown tag (`!important`) is only a warning, and would be dropped.
      const [problem] = [...document.errors, ...document.warnings]
      if (problem !== undefined) throw problem
      return { fields: wellFormed(document.toJS()) }
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) }
    }
  }
  // The fence is a line, too.
  const strict = read(`\n${matter}`)
  if ('fields' in strict) return { ...strict, body }
  // A block may continue in indented lines below.
  const lenient = read(
    matter.replaceAll(PLAIN_VALUE, (line, key, value) => ('fields' in read(line) ? line : `${key}: >-\n  ${value}`)),
  )
  if ('fields' in lenient) return { ...lenient, body }
  throw new DocumentError(`the front matter is not YAML: ${strict.problem.split('\n', 1)[0]?.replace(/:$/, '')}`)
}
