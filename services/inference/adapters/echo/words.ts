import type { Message, Part } from '#gen/portico/inference/v1/inference_pb.js'

const TALE = 'the quick brown fox jumps over the lazy dog while portico counts every word that it writes'.split(' ')

/** A longer sequence without white space is several words: no model writes that much in one token. */
const LONGEST = 300
const WORD = new RegExp(`\\s{0,100}\\S{1,${LONGEST}}\\s{0,100}|\\s{1,${LONGEST}}`, 'gu')

/** The words of a text, one by one, each with the surrounding white space; joined, they are the text. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(WORD)) yield word
}

/** Code unit → whether `\s` matches it: testing each character of a long text takes too long. */
const SPACES = new Uint8Array(0x10000)
for (const space of '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff') SPACES[space.charCodeAt(0)] = 1
SPACES.fill(1, 0x2000, 0x200b)

/** How many words a text has; they are not created, since a question may have millions. */
function countWords(text: string): number {
  let words = 0
  let before = 1
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const space = SPACES[text.charCodeAt(i)] ?? 0
    words += before & (1 - space)
    length = space === 1 ? 0 : length + 1
    before = space
    if (length === LONGEST) {
      before = 1
      length = 0
    }
  }
  return words
}

/** Exactly this many words, always the same ones. */
export function tale(words: number): string {
  const text: string[] = []
  for (let i = 0; i < words; i++) text.push(TALE[i % TALE.length] ?? '')
  return text.join(' ')
}

/**
 * Tokens of a conversation, as portico/echo counts them: one for each word (a sequence without white space, of at most
 * 300 characters) of text, thoughts, tool arguments and tool results, and one for each picture, file and sound.
 */
export function countTokens(messages: readonly Message[]): number {
  let tokens = 0
  for (const message of messages) for (const part of message.parts) tokens += tokensOf(part)
  return tokens
}

function tokensOf({ part }: Part): number {
  switch (part.case) {
    case 'text':
    case 'refusal':
      return countWords(part.value.text)
    case 'reasoning':
      return countWords(part.value.text || part.value.summary || '')
    case 'toolCall':
      return 1 + countWords(part.value.arguments)
    case 'toolResult':
      return part.value.content.reduce((tokens, inner) => tokens + tokensOf(inner), 0)
    default:
      return 1
  }
}
