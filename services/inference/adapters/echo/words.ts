import type { Message, Part } from '#services/inference/domain/conversation.ts'

const TALE = 'the quick brown fox jumps over the lazy dog while portico counts every word that it writes'.split(' ')

/** The words of a text, one by one, each with the white space around it; together they are the text. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(/\s*\S+\s*|\s+/g)) yield word
}

/** How many words a text has; they are not made, since a question may have millions. */
function countWords(text: string): number {
  let words = 0
  let inWord = false
  for (let i = 0; i < text.length; i++) {
    const space = isSpace(text.charCodeAt(i))
    if (!space && !inWord) words++
    inWord = !space
  }
  return words
}

/** What `\s` means; to ask it for each character of a long text takes too long. */
function isSpace(code: number): boolean {
  if (code < 0x1680) return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0
  if (code > 0x205f) return code === 0x3000 || code === 0xfeff
  return code === 0x1680 || (code >= 0x2000 && code <= 0x200a) || WIDE_SPACES.has(code)
}

/** LINE SEPARATOR, PARAGRAPH SEPARATOR, NARROW NO-BREAK SPACE, MEDIUM MATHEMATICAL SPACE. */
const WIDE_SPACES = new Set([0x2028, 0x2029, 0x202f, 0x205f])

/** Exactly so many words, always the same ones. */
export function tale(words: number): string {
  const text: string[] = []
  for (let i = 0; i < words; i++) text.push(TALE[i % TALE.length] ?? '')
  return text.join(' ')
}

/**
 * Tokens of a conversation, as portico/echo counts them: one for each word (a run without white space) of text, thoughts, tool
 * arguments and tool results, and one for each picture, file and sound.
 */
export function countTokens(messages: readonly Message[]): number {
  let tokens = 0
  for (const message of messages) for (const part of message.parts) tokens += tokensOf(part)
  return tokens
}

function tokensOf(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return countWords(part.text)
    case 'reasoning':
      return countWords(part.text || part.summary || '')
    case 'tool-call':
      return 1 + countWords(part.arguments)
    case 'tool-result':
      return part.content.reduce((tokens, inner) => tokens + tokensOf(inner), 0)
    default:
      return 1
  }
}
