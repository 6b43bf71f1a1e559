import type { Message, Part } from '#services/inference/domain/conversation.ts'

const TALE = 'the quick brown fox jumps over the lazy dog while portico counts every word that it writes'.split(' ')

/** The words of a text, one by one, each with the white space around it; together they are the text. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(/\s*\S+\s*/g)) yield word
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

/** What `\s` means. */
function isSpace(code: number): boolean {
  if (code < 0xa0) return code === 0x20 || (code >= 0x09 && code <= 0x0d)
  return /\s/.test(String.fromCharCode(code))
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
      return countWords(part.text)
    case 'reasoning':
      return countWords(part.text === '' ? part.summary : part.text)
    case 'tool-call':
      return 1 + countWords(part.arguments)
    case 'tool-result':
      return part.content.reduce((tokens, inner) => tokens + tokensOf(inner), 0)
    default:
      return 1
  }
}
