import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Part, PartSchema } from '#gen/portico/inference/v1/inference_pb.js'

export type Content = Part['part']
/** The same, with only the members that are given. */
export type ContentInit = NonNullable<Exclude<MessageInitShape<typeof PartSchema>, Part>['part']>
/** The names of the kinds of media. */
export type MediaKind = 'image' | 'file' | 'audio' | 'video'

/** Joins the text of parts; parts of other kinds are left out. */
export function textOf(parts: readonly Part[]): string {
  let text = ''
  for (const { part } of parts) if (part.case === 'text' || part.case === 'refusal') text += part.value.text
  return text
}

/** Whether a content is a picture, a file, sound or a video. */
export function isMedia(content: Content): content is Extract<Content, { readonly case: MediaKind }> {
  const { case: kind } = content
  return kind === 'image' || kind === 'file' || kind === 'audio' || kind === 'video'
}
