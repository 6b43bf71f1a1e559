import { readFileSync } from 'node:fs'

/** The secret that a file's text holds: one line, without the white space around it; undefined when it is none. */
export function secretIn(text: string): string | undefined {
  const line = text.trim()
  return line === '' || /\p{Cc}/u.test(line) ? undefined : line
}

/** Reads a secret from a file. Throws an error whose message says what is wrong and never what the file holds. */
export function readSecretFile(path: string): string {
  const secret = secretIn(read(path))
  if (secret === undefined) throw new Error('must hold one line of text')
  return secret
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot be read (${error instanceof Error && 'code' in error ? error.code : error})`)
  }
}
