import assert from 'node:assert/strict'
import test from 'node:test'
import { everyMessageJson } from '#test/support/every-message.ts'
import { sanitizeMessage, sanitizeSession } from './sanitize.ts'

const MARKER = 'MARKER'

/** Marks every text, but for those that say which form an object has, and the id that is in what is redacted. */
function marked(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return name === 'type' || name === 'status' ? value : `${MARKER} ${value}`
  if (Array.isArray(value)) return value.map((item) => marked(item, name))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member, name)]))
  return name === '' && 'id' in value ? { ...members, id: value.id } : members
}

/** Where markers are, as paths without numbers. */
function places(value: unknown, path: string, found: Set<string>): Set<string> {
  if (typeof value === 'string' && value.includes(MARKER)) found.add(path)
  else if (Array.isArray(value)) for (const item of value) places(item, `${path}[]`, found)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) places(member, `${path}.${name}`, found)
  }
  return found
}

test('sanitized messages of every kind keep only ids, names of agents, models and tools, and media types', () => {
  const found = new Set<string>()
  for (const message of everyMessageJson('YWJj')) {
    places(sanitizeMessage(marked(message) as object), String(message.type), found)
  }
  const model = (at: string): string[] => [`${at}.id`, `${at}.providerID`, `${at}.variant`]
  assert.deepEqual(
    [...found].toSorted(),
    [
      ...['user.files[].mime', 'user.skills[].id', 'skill.skill', 'shell.shellID', 'idle.outcome'],
      ...['assistant.agent', 'assistant.finish', 'assistant.content[].id', 'assistant.content[].name'],
      ...[...model('assistant.model'), 'assistant.content[].state.content[].mime'],
      ...['compaction.reason', ...model('compaction.model'), 'agent-switched.agent', 'agent-switched.previous'],
      ...[...model('model-switched.model'), 'model-switched.previous.id', 'model-switched.previous.providerID'],
      ...['location-switched.projectID', 'location-switched.previous.projectID'],
    ].toSorted(),
  )
})

test('a sanitized session keeps only ids and the names of its agent and model', () => {
  const session = {
    ...{ id: 'a', parentID: 'a', projectID: 'a', agent: 'a', model: { id: 'a', providerID: 'a', variant: 'a' } },
    ...{ cost: 1, tokens: { input: 1 }, time: { created: 1 }, title: 'a', location: { directory: 'a' }, subpath: 'a' },
    ...{ metadata: { a: 'a' }, permissions: [{ action: 'a', resource: 'a', effect: 'a' }] },
    fork: { sessionID: 'a', boundary: { type: 'before', messageID: 'a' } },
  }
  const left = places(sanitizeSession(marked(session) as object), '', new Set())
  assert.deepEqual(
    [...left].toSorted(),
    [
      ...['.parentID', '.projectID', '.agent', '.model.id', '.model.providerID', '.model.variant'],
      ...['.permissions[].effect', '.fork.sessionID', '.fork.boundary.messageID'],
    ].toSorted(),
  )
})

test('blank texts and empty objects stay, and numbers', () => {
  const message = {
    ...{ id: 'msg_1', type: 'system', time: { created: 1 }, text: ' \n', description: '', metadata: {} },
  }
  assert.deepEqual(sanitizeMessage(message), message)
})
