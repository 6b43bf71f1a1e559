import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { splitFrontMatter } from '#services/catalog/domain/front-matter.ts'
import { wellFormed } from '#shared/well-formed.ts'
import { readBounded } from '../files/read-bounded.ts'

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
  // Many projects have no such file, so the parser is only loaded here.
  const { parseDocument } = await import('yaml')
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
