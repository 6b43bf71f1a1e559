import type { Message, Part } from './conversation.ts'

const WORDS = /\s*\S+\s*/g
const TALE = 'the quick brown fox jumps over the lazy dog while portico counts every word that it writes'.split(' ')

/** The words of a text, each with the white space around it; together they are the text. */
export function wordsOf(text: string): string[] {
  return text.match(WORDS) ?? []
}

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
      return wordsOf(part.text).length
    case 'reasoning':
      return wordsOf(part.text === '' ? part.summary : part.text).length
    case 'tool-call':
      return 1 + wordsOf(part.arguments).length
    case 'tool-result':
      return part.content.reduce((tokens, inner) => tokens + tokensOf(inner), 0)
    default:
      return 1
  }
}
