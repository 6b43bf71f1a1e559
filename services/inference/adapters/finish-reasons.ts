import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'

/** The words for the ends of generations, in stores and in telemetry. */
const words = {
  stop: FinishReason.STOP,
  length: FinishReason.LENGTH,
  'tool-calls': FinishReason.TOOL_CALLS,
  'content-filter': FinishReason.CONTENT_FILTER,
  other: FinishReason.OTHER,
} as const
const table = enumTable<string, FinishReason>(words)

/** The word for a reason; undefined: there is none. */
export function finishWord(reason: FinishReason | undefined): string | undefined {
  return table.fromProto(reason)
}

/** The reason with that word; null: none. */
export function finishReasonOf(word: string | null): FinishReason | undefined {
  return word === null ? undefined : table.toProto(word)
}
