import { truncateLines } from '#services/catalog/domain/truncate.ts'
import { FILE_TOOL_TIMEOUT_MS, isTimeout, type ToolSuccess, textOf } from './tool.ts'

export interface SearchEnd {
  readonly lines: readonly string[]
  /** Maximum number of lines to return. */
  readonly limit: number
  /** Note if there are more. */
  readonly more: string
  /** Note if there is none. */
  readonly none: string
  /** Notes about what was not searched, and why. */
  readonly notes: readonly string[]
}

const LATE = `(stopped looking after ${FILE_TOOL_TIMEOUT_MS / 1_000} s: use a narrower path or pattern)`

/**
 * Runs a search. If its time is over first, returns a note for the model, and what was found so far counts. Any other
 * error is thrown.
 */
export async function searchInTime(signal: AbortSignal, search: () => Promise<void>): Promise<string[]> {
  try {
    await search()
    return []
  } catch (error) {
    if (signal.aborted && error === signal.reason && isTimeout(error)) return [LATE]
    throw error
  }
}

/** The result of a search: what was found, and what was not searched. */
export function searchResult({ lines, limit, more, none, notes }: SearchEnd): ToolSuccess {
  const { text, truncated } = truncateLines(lines.slice(0, limit), more, lines.length > limit)
  const parts = [text || none, ...(notes.length > 0 ? ['', ...notes] : [])]
  const metadata = { count: Math.min(lines.length, limit), truncated: truncated || notes.length > 0 }
  return textOf(parts.join('\n'), metadata)
}
