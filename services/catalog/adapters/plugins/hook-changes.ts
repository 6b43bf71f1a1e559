import { create } from '@bufbuild/protobuf'
import {
  type EditedFile,
  EditedFileSchema,
  type EditedPrompt,
  EditedPromptSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { LocationNames } from '#services/catalog/domain/plugins/plugin.ts'
import { isFreeObject, isObject, type JsonObject, MAX_LEVELS } from '#shared/json.ts'
import { isWithin } from '#shared/rpc/parse.ts'

/** What a hook returned: an object of members to change, or a text. Each reader throws TypeError. */
type Returned = Record<string, unknown> | string

/** Limits of a prompt, wherever it comes from: characters of its text, and names of each kind. */
const MAX_TEXT = 1_048_576
const MAX_FILES = 32
const MAX_NAMES = 32
const MAX_REASON = 2_000
const MAX_INSTRUCTIONS = 32 << 10
const MAX_METADATA = 64 << 10

/** A prompt as plugins get it. They get an object of metadata even if there is none. */
export function promptInput({ text, files, agents, skills, metadata = {}, queued }: EditedPrompt) {
  const attachments = files.map(({ uri, name, description }) => ({ uri, name, description }))
  return { text, agents, skills, metadata, files: attachments, delivery: queued ? 'queue' : 'steer' }
}

/**
 * Applies changes to a prompt; `known` is what the location has. Only its files remain to be checked, where they are
 * read.
 */
export function readPromptChange(value: Returned, prompt: EditedPrompt, names: LocationNames): EditedPrompt {
  const before = promptInput(prompt)
  const {
    text = before.text,
    files,
    agents,
    skills,
    metadata = before.metadata,
    delivery = before.delivery,
  } = objectOf(value)
  if (typeof text !== 'string' || !isWithin(text, 0, MAX_TEXT)) {
    throw new TypeError(`text is not a string of at most ${MAX_TEXT} characters`)
  }
  if (!isFreeObject(metadata) || JSON.stringify(metadata).length > MAX_METADATA) {
    throw new TypeError(`metadata is not an object of at most ${MAX_METADATA} characters and ${MAX_LEVELS} levels`)
  }
  if (delivery !== 'steer' && delivery !== 'queue') throw new TypeError('delivery is neither steer nor queue')
  const hasMetadata = prompt.metadata !== undefined || Object.keys(metadata).length > 0
  return create(EditedPromptSchema, {
    text,
    queued: delivery === 'queue',
    metadata: hasMetadata ? metadata : undefined,
    files: files === undefined || files === null ? prompt.files : readFiles(files),
    agents:
      agents === undefined || agents === null ? prompt.agents : readNames('agent', agents, prompt.agents, names.agents),
    skills:
      skills === undefined || skills === null ? prompt.skills : readNames('skill', skills, prompt.skills, names.skills),
  })
}

/** The changed input of a call, or why it is refused. */
export function readCallChange(value: Returned): { readonly input?: JsonObject; readonly refuse?: string } {
  const { input, refuse } = objectOf(value)
  if (refuse !== undefined && refuse !== null) {
    if (typeof refuse !== 'string') throw new TypeError('refuse is not a string')
    return { refuse: refuse.slice(0, MAX_REASON).toWellFormed() }
  }
  if (input === undefined || input === null) return {}
  if (!isFreeObject(input)) throw new TypeError(`input is not an object of at most ${MAX_LEVELS} levels`)
  return { input }
}

export function readTextChange(value: Returned): string {
  const { text } = objectOf(value)
  if (typeof text !== 'string') throw new TypeError('text is not a string')
  return text
}

export function readInstructions(value: Returned): string {
  if (typeof value === 'string' && value.length <= MAX_INSTRUCTIONS) return value
  throw new TypeError(`it is not a string of at most ${MAX_INSTRUCTIONS} characters`)
}

function readFiles(value: unknown): EditedFile[] {
  if (!Array.isArray(value) || value.length > MAX_FILES)
    throw new TypeError(`files is not an array of at most ${MAX_FILES}`)
  return value.map((file: unknown) => {
    if (!isObject(file) || typeof file.uri !== 'string') throw new TypeError('a file has no uri')
    return create(EditedFileSchema, { uri: file.uri, name: textOf(file.name), description: textOf(file.description) })
  })
}

/** The plugin is not responsible for names that were in the prompt before. */
function readNames(kind: string, value: unknown, named: readonly string[], names: ReadonlySet<string>): string[] {
  const isText = (name: unknown): name is string => typeof name === 'string'
  if (!Array.isArray(value) || value.length > MAX_NAMES || !value.every(isText)) {
    throw new TypeError(`${kind}s is no list of at most ${MAX_NAMES} ids`)
  }
  const unknown = value.find((name) => !names.has(name) && !named.includes(name))
  if (unknown !== undefined) throw new TypeError(`there is no ${kind} ${unknown.slice(0, 64)}`)
  return value
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw new TypeError('a name or description is not a string')
}

function objectOf(value: Returned): Record<string, unknown> {
  if (typeof value === 'string') throw new TypeError('it is not an object')
  return value
}
