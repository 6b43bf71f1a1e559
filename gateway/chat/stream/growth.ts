import { PartStarted_Kind as Kind, type PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ChatFrames, Growth } from './frames.ts'

/** The pieces of the chunks by which a part grows; `number`: of a thought or a call. Undefined: it comes whole. */
export function growthOf(frames: ChatFrames, { kind, custom }: PartStarted, number: number): Growth | undefined {
  switch (kind) {
    case Kind.TEXT:
      return frames.growth('{"content":', '}')
    case Kind.REFUSAL:
      return frames.growth('{"refusal":', '}')
    case Kind.TOOL_CALL: {
      const member = custom ? '"custom":{"input":' : '"function":{"arguments":'
      return frames.growth(`{"tool_calls":[{"index":${number},${member}`, '}}]}')
    }
    case Kind.REASONING:
    case Kind.REASONING_SUMMARY: {
      const words = kind === Kind.REASONING ? '"reasoning.text","text":' : '"reasoning.summary","summary":'
      return frames.growth('{"reasoning":', `,"index":${number}}]}`, `,"reasoning_details":[{"type":${words}`)
    }
    default:
      return undefined
  }
}
