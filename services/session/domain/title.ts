import type { Message } from '#gen/portico/session/v1/message_pb.js'
import type { Prompt } from '#gen/portico/session/v1/session_pb.js'
import { isOf, type MessageOf } from './message.ts'

/** Characters of an input that a title is found from. */
const MAX_INPUT_LENGTH = 4_000
/** Characters of a title that is found. */
const MAX_FOUND_LENGTH = 100

const LEADING = /["'“”‘’`*#\s]/
const TRAILING = /["'“”‘’`*\s]/

/** The text from which a title is found; empty: there is none. */
export function titleInput({ text, files }: Prompt): string {
  const line = text.trim()
  const visible = line === '' ? files.map(({ name = '' }) => name).join(' ') : line
  return visible.slice(0, MAX_INPUT_LENGTH).toWellFormed()
}

export function isTitleInput(message: Message): message is MessageOf<'user'> {
  return isOf(message, 'user') && titleInput(message.kind.value) !== ''
}

/** The title in a model's answer: its first line with text, without quotation marks. Undefined: there is none. */
export function titleIn(answer: string): string | undefined {
  for (const line of answer.split('\n')) {
    const title = withoutMarks(line)
    if (title !== '') return title.slice(0, MAX_FOUND_LENGTH).toWellFormed()
  }
  return undefined
}

// Not by a regular expression, which would start over at each of many spaces when it looks for the end of a line.
function withoutMarks(line: string): string {
  let from = 0
  let to = line.length
  while (from < to && LEADING.test(line[from] ?? '')) from++
  while (to > from && TRAILING.test(line[to - 1] ?? '')) to--
  return line.slice(from, to)
}
