// For trying federation without an identity provider: creates a key pair and signs subject tokens with it, without a
// server or network. For operators: creates the next signing key of access tokens, in the store that the same
// environment gives the server.
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { systemClock } from '#shared/clock.ts'
import { randomText } from '#shared/ids.ts'
import { isObject } from '#shared/json.ts'
import { parseWords, remark, runCommand, UsageError } from './command.ts'
import { openAsOperator } from './operator.ts'

const USAGE = `Usage: npm run token -- keypair FILE [--alg ES256|RS256]
       npm run token -- sign FILE --issuer URL --subject SUBJECT --audience AUDIENCE [--expires-in SECONDS] [--claims JSON]
       npm run token -- rotate

keypair writes a private key to FILE and prints its key set (JWKS), which an issuer takes:
       npm run --silent token -- keypair issuer.key > issuer.jwks.json
sign prints a token signed with that key, good for 300 seconds unless --expires-in says otherwise; --claims adds claims:
       npm run --silent token -- sign issuer.key --issuer https://ci.example --subject job --audience portico
rotate makes the next key that access tokens are signed with, in the store of the server that has the same environment.
`
const DEFAULT_SECONDS = 300
const TEXT = { type: 'string' } as const
const OPTIONS = {
  keypair: { alg: TEXT },
  sign: { issuer: TEXT, subject: TEXT, audience: TEXT, 'expires-in': TEXT, claims: TEXT },
  rotate: {},
}

await runCommand(USAGE, async ([verb, ...words]) => {
  if (verb === 'keypair') keypair(words)
  else if (verb === 'sign') signToken(words)
  else if (verb === 'rotate') await rotate(words)
  else throw new UsageError(`Unknown command: ${verb}`)
})

function keypair(words: string[]): void {
  const { values, file } = parse(words, 'keypair')
  const { alg = 'ES256' } = values
  if (alg !== 'ES256' && alg !== 'RS256') throw new UsageError('--alg is ES256 or RS256')
  const { privateKey, publicKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const more = { kid: randomText(16), alg, use: 'sig' }
  const text = `${JSON.stringify({ ...privateKey.export({ format: 'jwk' }), ...more })}\n`
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new UsageError(`${file} cannot be written (${codeOf(error)})`)
  }
  process.stdout.write(`${JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), ...more }] })}\n`)
  remark(`The private key is in ${file}`)
}

function signToken(words: string[]): void {
  const { values, file } = parse(words, 'sign')
  const { issuer, subject, audience, 'expires-in': seconds = String(DEFAULT_SECONDS), claims = '{}' } = values
  if (issuer === undefined || subject === undefined || audience === undefined) {
    throw new UsageError('--issuer, --subject and --audience are required')
  }
  if (!/^-?\d{1,9}$/.test(seconds)) throw new UsageError('--expires-in takes a whole number of seconds')
  const { kid, alg, key } = readKey(file)
  const now = Math.floor(systemClock.now() / 1_000)
  const own = { iss: issuer, sub: subject, aud: audience, iat: now, exp: now + Number(seconds), jti: randomText(22) }
  const added = readJson(claims, '--claims takes a JSON object')
  const signed = [
    { alg, typ: 'JWT', kid },
    { ...own, ...added },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  process.stdout.write(`${signed}.${signature.toString('base64url')}\n`)
}

async function rotate(words: string[]): Promise<void> {
  parse(words, 'rotate')
  await using operator = await openAsOperator({ makes: false })
  const { next, useTime } = await operator.federation.rotateSigningKey({}, operator.as())
  process.stdout.write(`${next?.kid}\n`)
  remark(`The key is published from now on, and signs from ${new Date(useTime).toISOString()} on`)
}

/** Parses the options of a command, and its file if it takes one. */
function parse<C extends keyof typeof OPTIONS>(words: string[], command: C) {
  const allowPositionals = command !== 'rotate'
  const { values, positionals }: { values: Readonly<Record<string, string | undefined>>; positionals: string[] } =
    parseWords({ args: words, allowPositionals, options: OPTIONS[command] })
  const [file = '', ...rest] = positionals
  if (rest.length > 0) throw new UsageError(`Unexpected arguments: ${rest.join(' ')}`)
  if (command !== 'rotate' && file === '') throw new UsageError('A file for the private key is required')
  return { values, file }
}

function readKey(path: string) {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read (${codeOf(error)})`)
  }
  const problem = `${path} holds no key that keypair has made`
  const { kid, alg, ...jwk } = readJson(text, problem)
  try {
    return { kid, alg, key: createPrivateKey({ key: jwk, format: 'jwk' }) }
  } catch {
    throw new UsageError(problem)
  }
}

function readJson(text: string, problem: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {}
  throw new UsageError(problem)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
