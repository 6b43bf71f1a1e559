import { basename, join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { type Location, type Skill, SkillSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { DocumentError } from '#services/catalog/domain/agent-document.ts'
import { isObject } from '#shared/json.ts'
import { levelsOf } from '../configuration/find-documents.ts'
import { type ExistingFile, entriesOf, findFile } from '../files/find-file.ts'
import type { Definition } from './file-source.ts'
import { readMarkdown } from './read-markdown.ts'

/** A file that defines a skill. */
interface SkillFile extends ExistingFile {
  readonly id: string
}

const FILE = 'SKILL.md'
const MAX_BYTES = 64 << 10
/** Maximum number of characters of a name, and of a description. */
const MAX_NAME = 256
const MAX_DESCRIPTION = 1_024
/** Maximum number of skills in one location, and in one folder of them. */
const MAX_SKILLS = 256
/** Maximum number of levels between a folder of skills and a skill's file, and of folders that are searched there. */
const MAX_DEPTH = 4
const MAX_FOLDERS = 1_024

/** Folders of skills in the user's home directory, lowest precedence first. */
const OF_HOME = ['.agents/skills', '.claude/skills']

/** Folders of skills in a directory of a project. */
const OF_LEVEL = ['.claude/skills', '.agents/skills', '.opencode/skill', '.opencode/skills']

/** Folders of skills in the global configuration directory. */
const OF_CONFIGURATION = ['skill', 'skills']

/**
 * Skills are defined by files `NAME/SKILL.md` (in any letter case) of at most 64 KiB in folders of skills, lowest
 * precedence first: the user's own, in the home and in the global configuration directory; those of the project, from
 * its root down to the location. A link out of the project is not followed. A location has at most 256, of which the
 * nearest take precedence.
 */
export function skillFiles(configDirectory: string, home: string): Definition<SkillFile, Skill, Skill[]> {
  return {
    name: 'A skill',
    find: (location) => findSkillFiles(configDirectory, home, location),
    parse: readSkillFile,
    merge: mergeSkills,
  }
}

/** The files, and where they were looked for, like `findAgentFiles`. */
export async function findSkillFiles(configDirectory: string, home: string, location: Location) {
  const own = [
    ...OF_HOME.map((name) => join(home, name)),
    ...OF_CONFIGURATION.map((name) => join(configDirectory, name)),
  ]
  const local = levelsOf(location).flatMap((level) => OF_LEVEL.map((name) => join(level, name)))
  const searches = [
    ...own.map((directory) => new Search(directory, undefined)),
    ...local.map((directory) => new Search(directory, location.projectDirectory)),
  ]
  const lists = await Promise.all(searches.map((search) => search.find()))
  return {
    files: lists.flat(),
    places: searches.flatMap(({ places }) => places),
    folders: searches.flatMap(({ folders }) => folders),
  }
}

/** Searches one folder for skills, and records where it searched. */
class Search {
  readonly places: string[]
  readonly folders: string[] = []
  readonly #directory: string
  readonly #within: string | undefined
  #skills = 0
  #folders = 0

  /** `within`: the directory that no link may lead out of. */
  constructor(directory: string, within: string | undefined) {
    this.places = [directory]
    this.#directory = directory
    this.#within = within
  }

  async find(): Promise<SkillFile[]> {
    return await this.#below('', MAX_DEPTH)
  }

  async #below(prefix: string, depth: number): Promise<SkillFile[]> {
    const directory = join(this.#directory, prefix)
    this.folders.push(directory)
    const entries = await entriesOf(directory)
    const names = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name)
    const files: SkillFile[] = []
    for (const name of names.sort()) {
      // One more than the maximum is kept, so that merging them reports it.
      if (this.#skills > MAX_SKILLS || this.#folders === MAX_FOLDERS) break
      this.#folders++
      const id = prefix + name
      const file = await this.#skillIn(join(directory, name))
      if (file !== undefined) {
        this.#skills++
        // Its folder may be a link: everything at its target belongs to the skill.
        this.places.push(join(directory, name))
        files.push({ ...file, id })
      } else if (depth > 1 && entries.some((entry) => entry.name === name && entry.isDirectory())) {
        files.push(...(await this.#below(`${id}/`, depth - 1)))
      }
    }
    return files
  }

  async #skillIn(folder: string): Promise<ExistingFile | undefined> {
    const path = join(folder, FILE)
    this.places.push(path)
    const file = await findFile(path, this.#within)
    if (file !== undefined) return file
    const other = (await entriesOf(folder)).find(({ name }) => name.toUpperCase() === FILE.toUpperCase())
    if (other === undefined || other.name === FILE) return undefined
    const otherPath = join(folder, other.name)
    this.places.push(otherPath)
    return await findFile(otherPath, this.#within)
  }
}

async function readSkillFile({ path, id }: SkillFile, onProblem: (problem: string) => void): Promise<Skill> {
  const { fields, body } = await readMarkdown(path, MAX_BYTES)
  if (fields != null && !isObject(fields)) throw new DocumentError('the front matter is not a map')
  const name = readText(fields?.name, 'name', MAX_NAME)
  const description = readText(fields?.description, 'description', MAX_DESCRIPTION)
  if (description === undefined)
    onProblem('the front matter has no description: without it the model does not know when to read the skill')
  if (name !== undefined && name !== id && name !== basename(id))
    onProblem(`the name ${name} is only shown: its id is ${id}, the name of its folder; give both the same name`)
  return create(SkillSchema, { skillId: id, name: name ?? id, description, text: body, path })
}

function readText(value: unknown, name: string, most: number): string | undefined {
  if (value == null || value === '') return undefined
  if (typeof value === 'string' && value.length <= most) return value
  throw new DocumentError(`${name} is not a text of at most ${most} characters`)
}

/** Of skills with the same id, the last one counts. */
function mergeSkills(skills: readonly Skill[], onProblem: (problem: string) => void): Skill[] {
  const nearest = new Map<string, Skill>()
  for (const skill of skills.toReversed()) if (!nearest.has(skill.skillId)) nearest.set(skill.skillId, skill)
  const kept = [...nearest.values()].slice(0, MAX_SKILLS)
  if (kept.length < nearest.size) onProblem(`more than ${MAX_SKILLS} in one location`)
  return kept.sort((left, right) => (left.skillId < right.skillId ? -1 : 1))
}
