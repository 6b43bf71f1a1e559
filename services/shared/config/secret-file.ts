import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * The secret in the text of a file: one line, without surrounding white space. Undefined if the text is not one line.
 */
export function secretIn(text: string): string | undefined {
  const line = text.trim()
  return line === '' || /\p{Cc}/u.test(line) ? undefined : line
}

/** Reads a secret from a file. Throws an error whose message names the file and the problem, but never its content. */
export function readSecretFile(path: string): string {
  const secret = secretIn(read(path))
  if (secret === undefined) throw new Error(`${resolve(path)} must contain exactly one line of text`)
  return secret
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(
      `${resolve(path)} cannot be read (${error instanceof Error && 'code' in error ? error.code : error})`,
    )
  }
}
