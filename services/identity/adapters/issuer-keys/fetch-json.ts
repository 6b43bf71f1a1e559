import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request as startRequest } from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { secretIn } from '#shared/config/secret-file.ts'
import { codeOf, type Destination, type DestinationRules, destinationOf, FetchProblem } from './destination.ts'

/** The response of a URL. */
export interface FetchedJson {
  readonly value: unknown
  /** How long it may be cached, according to its headers; undefined: they do not say. */
  readonly maxAgeSeconds: number | undefined
}

/** What a Kubernetes API server publishes about its tokens: nothing else is fetched with its credential. */
const KUBERNETES_PATHS = ['/.well-known/openid-configuration', '/openid/v1/jwks']

/**
 * Fetches JSON from an https URL, once: over a connection of its own to an address that was checked, without proxies,
 * redirects or compression. Throws FetchProblem, or the reason of the signal.
 */
export async function fetchJson(
  url: URL,
  options: { readonly rules: DestinationRules; readonly mostBytes: number; readonly signal: AbortSignal },
): Promise<FetchedJson> {
  const { rules, mostBytes, signal } = options
  try {
    const destination = await destinationOf(url, rules, signal)
    const response = await respond(url, await optionsOf(url, destination, signal))
    checkHead(response, mostBytes)
    const text = await read(response, mostBytes)
    return { value: parse(text), maxAgeSeconds: maxAgeOf(response.headers['cache-control']) }
  } catch (error) {
    signal.throwIfAborted()
    const problem = error instanceof FetchProblem ? error.message : `cannot be reached${codeOf(error)}`
    throw new FetchProblem(`${quoteUrl(url)}: ${problem}`, { cause: error })
  }
}

/** A URL as shown to admins: without its query, and shortened. */
export function quoteUrl(url: URL): string {
  return `${url.origin}${url.pathname}`.slice(0, 200)
}

async function optionsOf(url: URL, { addresses, network }: Destination, signal: AbortSignal): Promise<RequestOptions> {
  const host = network?.hosts[url.host]
  const tokenFile = KUBERNETES_PATHS.includes(url.pathname) ? host?.tokenFile : undefined
  const token = tokenFile === undefined ? undefined : secretIn(await fileOf(tokenFile))
  const answers = addresses.map((address) => ({ address, family: isIP(address) }))
  // The name is not resolved again: it may have other addresses by now, which were not checked.
  const lookup: LookupFunction = (_name, { all }, callback) => {
    const [first] = answers
    if (all === true) callback(null, answers)
    else callback(null, first?.address ?? '', first?.family)
  }
  return {
    lookup,
    signal,
    // A new agent, so that no connection is reused and no proxy of the environment is used.
    agent: false,
    rejectUnauthorized: true,
    ...(network?.caFile === undefined ? {} : { ca: await fileOf(network.caFile) }),
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'portico',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  }
}

async function fileOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new FetchProblem(`a file of PORTICO_FEDERATION_NETWORKS cannot be read${codeOf(error)}`)
  }
}

async function respond(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const request = startRequest(url, options)
  const responded = once(request, 'response') as Promise<[IncomingMessage]>
  // Without a listener, such a response would end the request silently.
  const switched = once(request, 'upgrade') as Promise<[IncomingMessage, Socket]>
  switched.catch(() => {})
  // Whatever comes after the response is also an error of the response.
  request.on('error', () => {})
  request.end()
  const [response, socket] = await Promise.race([responded, switched])
  // Its status is not accepted.
  socket?.destroy()
  return response
}

function checkHead(response: IncomingMessage, mostBytes: number): void {
  const { statusCode, headers } = response
  const encoding = headers['content-encoding']
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  let problem: string | undefined
  if (statusCode !== 200) problem = `responded with status ${statusCode}`
  else if (encoding !== undefined && encoding.toLowerCase() !== 'identity') problem = 'answered compressed'
  else if (!/^application\/([^\s/]+\+)?json$/i.test(type.trim()))
    problem = 'answered with a content type other than JSON'
  else if (Number(headers['content-length'] ?? 0) > mostBytes) problem = tooLong(mostBytes)
  if (problem === undefined) return
  response.destroy()
  throw new FetchProblem(problem)
}

async function read(response: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop destroys the response and its connection.
    if (bytes > mostBytes) throw new FetchProblem(tooLong(mostBytes))
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLong(mostBytes: number): string {
  return `answered with more than ${mostBytes / 1_024} KB`
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text))
  } catch {
    throw new FetchProblem('answered with something other than JSON')
  }
}

function maxAgeOf(cacheControl: string | undefined): number | undefined {
  if (cacheControl === undefined) return undefined
  if (/(^|[\s,])no-(store|cache)([\s,]|$)/i.test(cacheControl)) return 0
  const [, seconds] = /(?:^|[\s,])max-age\s*=\s*"?(\d{1,10})/i.exec(cacheControl) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}
