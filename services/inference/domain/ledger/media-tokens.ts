import type { MediaKind } from '../conversation.ts'

/** Tokens of media. */
export type MediaTokens = Readonly<Record<MediaKind, number>>

/**
 * Usual size of media, for which their bytes say nothing: a picture of 1,568 pixels, ten pages, a minute of sound or
 * video.
 */
export const USUAL_TOKENS: MediaTokens = { image: 1_600, file: 30_000, audio: 2_000, video: 18_000 }

/**
 * Maximum size of media, according to makers: pictures of 10,000 patches (OpenAI), 100 pages of 3,000 tokens and a
 * picture each (Anthropic), nine hours of sound and an hour of video (Gemini).
 */
export const MOST_TOKENS: MediaTokens = { image: 10_000, file: 460_000, audio: 1_000_000, video: 1_000_000 }

/** With this model, a picture has 33 times as many tokens as with others. */
export const COSTLY_PICTURES: readonly [RegExp, number] = [/gpt-4o-mini/, 48_169]
