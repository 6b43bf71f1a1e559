import type { Prompt } from './message.ts'

/** Characters of an input that a title is found from. */
const MAX_INPUT_LENGTH = 4_000
const MAX_TITLE_LENGTH = 100

/** What a title is found from; empty: nothing was said. */
export function titleInput({ text, files }: Prompt): string {
  const said = text.trim()
  const shown = said === '' ? files.map(({ name = '' }) => name).join(' ') : said
  return shown.slice(0, MAX_INPUT_LENGTH).toWellFormed()
}

/** The title in what a model answered: its first line that says something, without quotation marks. Undefined: there is none. */
export function titleIn(answer: string): string | undefined {
  const lines = answer.split('\n').map((line) => line.trim().replace(/^["'“”‘’`*#\s]+|["'“”‘’`*\s]+$/g, ''))
  const title = lines.find((line) => line !== '')
  return title?.slice(0, MAX_TITLE_LENGTH).toWellFormed()
}
