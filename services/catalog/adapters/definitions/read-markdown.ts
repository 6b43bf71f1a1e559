import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { splitFrontMatter } from '#services/catalog/domain/front-matter.ts'
import { wellFormed } from '#shared/well-formed.ts'
import { readBounded } from '../files/read-bounded.ts'

/** Characters; the time to parse YAML grows with their square, to 20 s for 256 KiB of quotes. */
const MAX_MATTER = 16 << 10

/** A top-level key with a value on the same line, which is neither quoted nor a block, and not a collection that does not end there. */
const PLAIN_VALUE = /^([A-Za-z_][\w-]*):[ \t]+(?![\s"'|>#]|[[{][^\]}\n]*$)(.*[^[{,\s])[ \t]*$/gm

/**
 * Reads a Markdown file of at most `limit` bytes: what the YAML before its text says, in at most 16,384 characters (undefined or
 * null: nothing), and its text. Where that is not YAML, a value that is not YAML by itself is the text it looks like (`description: Use
 * when: a release is due`), as in OpenCode and Claude Code. Throws when it is not of that form either; the message names the file's line.
 */
export async function readMarkdown(
  path: string,
  limit: number,
): Promise<{ readonly fields: unknown; readonly body: string }> {
  const { matter, body } = splitFrontMatter((await readBounded(path, limit)).toString())
  if (matter.length > MAX_MATTER) throw new DocumentError(`the front matter has more than ${MAX_MATTER} characters`)
  // Many projects have no such file.
  const { parseDocument } = await import('yaml')
  const read = (text: string): { readonly fields: unknown } | { readonly problem: string } => {
    try {
      const document = parseDocument(text)
      // A tag that nobody knows (`!important`) is only a warning, and would be left out.
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
  // A block may go on in indented lines below.
  const lenient = read(
    matter.replaceAll(PLAIN_VALUE, (line, key, value) => ('fields' in read(line) ? line : `${key}: >-\n  ${value}`)),
  )
  if ('fields' in lenient) return { ...lenient, body }
  throw new DocumentError(`the front matter is not YAML: ${strict.problem.split('\n', 1)[0]?.replace(/:$/, '')}`)
}
