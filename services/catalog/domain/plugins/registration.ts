import { create } from '@bufbuild/protobuf'
import { type Skill, SkillSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { isObject, type JsonObject } from '#shared/json.ts'
import type { AgentEntry } from '../agent.ts'
import { DocumentError, readConfigDocument } from '../agent-document.ts'
import { checkSchema } from './tool-schema.ts'

/** A tool that a plugin has registered. */
export interface RegisteredTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  /** Action of the permission that a call requires; undefined: the tool's name in its location. */
  readonly permission: string | undefined
}

export interface Registration {
  readonly id: string
  readonly tools: readonly RegisteredTool[]
  readonly agents: ReadonlyMap<string, AgentEntry>
  readonly skills: readonly Skill[]
  readonly hooks: ReadonlySet<HookName>
  readonly events: ReadonlySet<string>
}

export const HOOK_NAMES = ['prompt', 'tool.before', 'tool.after', 'instructions'] as const
export type HookName = (typeof HOOK_NAMES)[number]

const EVENT_NAMES = ['agent.updated', 'skill.updated', 'plugin.updated', 'tool.ended'] as const
export type PluginEvent = (typeof EVENT_NAMES)[number]

const ID = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/
/** A tool name that every provider accepts. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const ACTION = /^[a-zA-Z0-9._/-]{1,128}$/
/** Maximum number of each kind in one plugin. */
const MOST = 64
const MAX_DESCRIPTION = 4_096
const MAX_SKILL = 64 << 10

/**
 * Parses what a plugin registers; `entry` is the path of its module, `reserved` are actions that it must not use.
 * Throws DocumentError.
 */
export function readRegistration(value: unknown, entry: string, reserved: ReadonlySet<string>): Registration {
  if (!isObject(value)) throw new DocumentError('What it registers cannot be read')
  const id = readPattern(value.id, 'id', ID)
  const tools = readList(value.tools, 'tools').map((tool, i) => readTool(tool, `tools[${i}]`, reserved))
  const skills = readList(value.skills, 'skills').map((skill, i) => readSkill(skill, `skills[${i}]`, entry))
  return {
    id,
    tools,
    skills,
    agents: readAgents(value.agents),
    hooks: new Set(readNames(value.hooks, 'hook', HOOK_NAMES)),
    events: new Set(readNames(value.events, 'event', EVENT_NAMES)),
  }
}

function readTool(value: unknown, at: string, reserved: ReadonlySet<string>): RegisteredTool {
  if (!isObject(value)) throw new DocumentError(`${at} is not an object`)
  const name = readPattern(value.name, `${at}.name`, TOOL_NAME)
  const description = readText(value.description, `${at}.description`, MAX_DESCRIPTION)
  const { permission } = value
  if (permission !== undefined && reserved.has(String(permission))) {
    throw new DocumentError(`${at}.permission is an action of Portico's own tools: ${permission}`)
  }
  return {
    name,
    description,
    inputSchema: checkSchema(value.inputSchema, `${at}.inputSchema`),
    permission: permission === undefined ? undefined : readPattern(permission, `${at}.permission`, ACTION),
  }
}

function readSkill(value: unknown, at: string, path: string): Skill {
  if (!isObject(value)) throw new DocumentError(`${at} is not an object`)
  const id = readPattern(value.id, `${at}.id`, ID)
  return create(SkillSchema, {
    skillId: id,
    path,
    name: value.name === undefined ? id : readText(value.name, `${at}.name`, 256),
    description: readText(value.description, `${at}.description`, 1_024),
    text: readText(value.text, `${at}.text`, MAX_SKILL),
  })
}

function readAgents(value: unknown): ReadonlyMap<string, AgentEntry> {
  const agents = isObject(value) ? value : {}
  const ids = Object.keys(agents)
  if (ids.length > MOST) throw new DocumentError(`agents has more than ${MOST} members`)
  for (const id of ids) readPattern(id, `agents.${id.slice(0, 64)}`, ID)
  return readConfigDocument({ agents }, (problem) => {
    throw new DocumentError(problem)
  }).agents
}

function readNames<T extends string>(value: unknown, kind: string, names: readonly T[]): T[] {
  return readList(value, `${kind}s`).map((name) => {
    const match = names.find((candidate) => candidate === name)
    if (match !== undefined) return match
    throw new DocumentError(`There is no ${kind} ${String(name).slice(0, 64)}; there are ${names.join(', ')}.`)
  })
}

function readList(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new DocumentError(`${at} is not a list`)
  if (value.length > MOST) throw new DocumentError(`${at} has more than ${MOST} members`)
  return value
}

function readPattern(value: unknown, at: string, pattern: RegExp): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw new DocumentError(`${at} is not of the form ${pattern.source}`)
}

function readText(value: unknown, at: string, most: number): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= most) return value
  throw new DocumentError(`${at} is not a text of 1 to ${most} characters`)
}
