import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { splitFrontMatter } from '#services/catalog/domain/front-matter.ts'
import { readBounded } from '../files/read-bounded.ts'

/** Characters; the time to parse YAML grows with their square, to 20 s for 256 KiB of quotes. */
const MAX_MATTER = 16 << 10

/**
 * Reads a Markdown file of at most `limit` bytes: what the YAML before its text says, in at most 16,384 characters (undefined or
 * null: nothing), and its text. Throws when it is not of that form.
 */
export async function readMarkdown(
  path: string,
  limit: number,
): Promise<{ readonly fields: unknown; readonly body: string }> {
  const { matter, body } = splitFrontMatter((await readBounded(path, limit)).toString())
  if (matter.length > MAX_MATTER) throw new DocumentError(`the front matter has more than ${MAX_MATTER} characters`)
  // Many projects have no such file.
  const { parse } = await import('yaml')
  return { fields: parse(matter), body }
}
