import { type ParseError, parse as parseJson } from 'jsonc-parser'
import { LRUCache } from 'lru-cache'
import { parse as parseYaml } from 'yaml'
import type { Logger } from '#shared/logging.ts'
import type { AgentDocument } from '../domain/agent.ts'
import { DocumentError, readConfigDocument, readMarkdownAgent } from '../domain/agent-document.ts'
import { type AgentSet, mergeAgents } from '../domain/agent-merge.ts'
import { splitFrontMatter } from '../domain/front-matter.ts'
import type { Location } from '../domain/location.ts'
import type { Agents } from '../ports.ts'
import { type AgentFile, findAgentFiles } from './agent-files.ts'
import { isOutOfDescriptors } from './paths.ts'
import { readBounded } from './read-bounded.ts'

const MAX_CONFIG_BYTES = 1 << 20
const MAX_MARKDOWN_BYTES = 256 << 10
/** Characters; the time to parse YAML grows with their square, to 20 s for 256 KiB of quotes. */
const MAX_MATTER = 16 << 10

interface Options {
  /** Global configuration directory. */
  readonly configDirectory: string
  /** Home directory, for `~` in rules. */
  readonly home: string
  readonly logger: Logger
}

/**
 * Agents of configuration files (`contract/instance-facts.md` 3.12). The files are looked for on each call, and read
 * again when one of them has changed. A document has at most 1 MiB, a Markdown file 256 KiB,
 * of which its front matter 16 KiB.
 */
export class FileAgents implements Agents {
  readonly #options: Options
  readonly #sets = new LRUCache<string, { readonly fingerprint: string; readonly set: AgentSet }>({ max: 256 })

  constructor(options: Options) {
    this.#options = options
  }

  async list(location: Location): Promise<AgentSet> {
    const { files } = await findAgentFiles(this.#options.configDirectory, location)
    const fingerprint = files.map((file) => file.fingerprint).join('\n')
    const known = this.#sets.get(location.directory)
    if (known?.fingerprint === fingerprint) return known.set
    const documents = await Promise.all(files.map((file) => this.#read(file)))
    const set = mergeAgents(documents.flat(), this.#options.home)
    this.#sets.set(location.directory, { fingerprint, set })
    return set
  }

  async #read(file: AgentFile): Promise<AgentDocument[]> {
    const skip = (problem: unknown): void => {
      this.#options.logger.warn({ path: file.path, problem: String(problem) }, 'agent configuration skipped')
    }
    try {
      const limit = file.kind === 'config' ? MAX_CONFIG_BYTES : MAX_MARKDOWN_BYTES
      const text = (await readBounded(file.path, limit)).toString()
      return [file.kind === 'config' ? readConfigDocument(parseDocument(text), skip) : readMarkdown(file, text)]
    } catch (error) {
      // What an agent must not do is not forgotten for a moment's want.
      if (isOutOfDescriptors(error)) throw error
      // Unreadable, too large, no JSON, no YAML, or not of the right form: the others still count.
      skip(error)
      return []
    }
  }
}

function parseDocument(text: string): unknown {
  const errors: ParseError[] = []
  const value: unknown = parseJson(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true })
  if (errors[0] !== undefined) throw new DocumentError(`no JSON at character ${errors[0].offset}`)
  return value
}

function readMarkdown(file: AgentFile, text: string): AgentDocument {
  const { matter, body } = splitFrontMatter(text)
  if (matter.length > MAX_MATTER) throw new DocumentError(`the front matter has more than ${MAX_MATTER} characters`)
  const entry = readMarkdownAgent(parseYaml(matter), body, file.kind === 'mode' ? 'primary' : undefined)
  return { permissions: [], agents: new Map([[file.id, entry]]) }
}
