import { truncateLines } from '#services/catalog/domain/truncate.ts'
import { FILE_TOOL_TIMEOUT_MS, isTimeout, type ToolSuccess, textOf } from './tool.ts'

/** What a search came to. */
export interface SearchEnd {
  readonly lines: readonly string[]
  /** Most lines to answer with. */
  readonly limit: number
  /** Said when there are more. */
  readonly more: string
  /** Said when there is none. */
  readonly none: string
  /** What was not looked at, and why. */
  readonly notes: readonly string[]
}

const LATE = `(stopped looking after ${FILE_TOOL_TIMEOUT_MS / 1_000} s: use a narrower path or pattern)`

/**
 * Does a search; why it stopped, for the model, when its time is over before it is: what it has found by then counts. Throws
 * whatever else it throws.
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

/** The answer of a search: what was found, and what was not looked at. */
export function searchResult({ lines, limit, more, none, notes }: SearchEnd): ToolSuccess {
  const { text, truncated } = truncateLines(lines.slice(0, limit), more, lines.length > limit)
  const parts = [text || none, ...(notes.length > 0 ? ['', ...notes] : [])]
  const metadata = { count: Math.min(lines.length, limit), truncated: truncated || notes.length > 0 }
  return textOf(parts.join('\n'), metadata)
}
