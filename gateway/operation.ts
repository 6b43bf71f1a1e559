import type { z } from 'zod'
import type { AnyReason } from '#shared/rejection.ts'
import type { Call } from './call.ts'
import type { Clients } from './clients.ts'
import { type Credentials, credentialsOf } from './credentials.ts'
import type { ShownReason } from './errors/public-error.ts'
import type { Facade } from './facade.ts'
import { type Family, type FamilyOf, familyOf } from './family.ts'
import type {
  Answer,
  ByStatus,
  Cursor,
  EventAnswer,
  Events,
  FormBody,
  JsonOf,
  JsonOrEvents,
  Members,
  PiecesOf,
  UnparsedBody,
  WholeAnswer,
} from './kinds.ts'

/** What a handler receives: the checked parts of the request that the operation has schemas for, and its call. */
export interface Input<P = unknown, Q = unknown, H = unknown, B = unknown> {
  readonly params: P
  readonly query: Q
  readonly headers: H
  readonly body: B
  readonly call: Call
  readonly facade: Facade
}

/** An operation as the runner, the OpenAPI document and the tests see it. */
export interface Operation {
  /** Operation id of the specification. */
  readonly id: string
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** In the style of OpenAPI: `/api/session/{sessionID}`. */
  readonly path: string
  /** The family whose error table applies. */
  readonly family: Family
  /** The credentials that are accepted; others get KEY_KIND_FORBIDDEN. */
  readonly credentials: Credentials
  /** One line for the reader of the document. */
  readonly summary: string
  readonly description?: string
  readonly params?: Members
  /** Parameters that are not in it are ignored. An empty parameter counts as absent if its schema refuses ''. */
  readonly query?: Members
  readonly cursor?: Cursor
  readonly headers?: Members
  /** A schema means JSON. */
  readonly body?: z.ZodType | FormBody | UnparsedBody
  /** The handler gets the JSON as it was sent, including members that the schema does not name. */
  readonly bodyAsGiven?: true
  /** Maximum length of the body in bytes, or the name of a setting; default: `bodyLimit`. */
  readonly limit?: 'bodyLimit' | 'promptLimit' | 'importLimit' | number
  /**
   * Requests are counted per client network; beyond the limit, they are refused with TOO_MANY_EXCHANGES before anything
   * of them is read.
   */
  readonly counted?: true
  /** Each request is for a generation, whose id is in every response. */
  readonly generates?: true
  /** How long a call to a service may take, in milliseconds; default: 30 s, and no limit for streams. */
  readonly deadlineMs?: number
  readonly answer: Answer
  /** The reasons that its services reject with; reasons that apply to every request are not repeated. */
  readonly errors: readonly AnyReason[]
  /** Calls the services. Whatever it throws becomes the public error of the family. */
  handle(clients: Clients, input: Input): unknown
  /** Turns the result of `handle` into the answer. */
  present?(handled: unknown, input: Input): unknown
  /**
   * Maps a field that a service names in an error to the member of the request that it was made from; default: the
   * same.
   */
  publicField?(field: string, input: Input): string
}

type NameIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NameIn<Rest> : never
type Params<Path extends string> = Readonly<Record<NameIn<Path>, string>>
type None = z.ZodObject<Record<never, never>>
type Body = NonNullable<Operation['body']>
type BodyOf<B> = B extends UnparsedBody
  ? Buffer
  : B extends FormBody<infer S>
    ? z.output<S>
    : B extends z.ZodType
      ? z.output<B>
      : never
type InputOf<Path extends string, Q extends Members, H extends Members, B> = Input<
  Params<Path>,
  z.output<Q>,
  z.output<H>,
  BodyOf<B>
>

/** The common part of every kind of operation; a path with parameters requires a schema for each of them. */
type Common<Path extends string, Q extends Members, H extends Members, B extends Body> = Omit<
  Operation,
  | 'path'
  | 'family'
  | 'credentials'
  | 'params'
  | 'query'
  | 'headers'
  | 'body'
  | 'answer'
  | 'errors'
  | 'handle'
  | 'present'
  | 'publicField'
> & {
  readonly path: Path
  /** Default: those of the path. */
  readonly credentials?: Credentials
  readonly query?: Q
  readonly headers?: H
  readonly body?: B
  /** Besides those that follow from the path and the query. */
  readonly errors?: readonly ShownReason<FamilyOf<Path>>[]
} & ([NameIn<Path>] extends [never]
    ? { readonly params?: never }
    : { readonly params: z.ZodObject<Readonly<Record<NameIn<Path>, z.ZodType<string, string>>>> })

/** What `handle` has to return. */
type HandledFor<A extends Answer> = A extends Events
  ? EventAnswer
  : A extends JsonOrEvents<infer J>
    ? EventAnswer | WholeAnswer<JsonOf<J>> | { readonly json: JsonOf<J> }
    : A extends PiecesOf
      ? AsyncIterable<string>
      : unknown

/** What `present` has to return. */
type PresentedFor<A extends Answer> = A extends z.ZodType
  ? JsonOf<A>
  : A extends ByStatus<infer S>
    ? { [N in keyof S]: { readonly status: N; readonly body: JsonOf<S[N]> } }[keyof S]
    : never

/** Whether there has to be a `present`. */
type Presents<A extends Answer> = A extends z.ZodType | ByStatus ? { readonly present: unknown } : unknown

/**
 * One public operation, as data: its request, its answer, its errors and the RPC behind it. The runner
 * (`run-operation.ts`) does everything else. Schemas describe JSON and convert nothing, since the OpenAPI document is
 * made from them; `handle` and `present` convert, by pairs of functions (`toX`, `fromX`) beside the schemas. `errors`
 * are the reasons that the called services reject with, as far as the table of the family shows them; `publicField`
 * gives the client's name of a field that one of them names.
 *
 * ```ts
 * export const getMessage = operation({
 *   id: 'session.message', method: 'get', path: '/api/session/{sessionID}/message/{messageID}',
 *   summary: 'One message of a session',
 *   params: z.object({ sessionID, messageID }), answer: z.object({ data: message }),
 *   handle: ({ session }, { params, call }) => session.getMessage(toGetMessage(params), call.options()),
 *   present: ({ message }) => ({ data: fromMessage(message) }),
 * })
 * ```
 *
 * Kinds of answers:
 * - a schema: 200 and JSON, made by `present`
 * - `noContent`: 204
 * - `byStatus({200: …, 503: …})`: `present` returns `{ status, body }`
 * - `events(schema)`: `handle` returns a {@link stream}
 * - `jsonOrEvents(schema, schema)`: `handle` returns `{ json }`, a {@link whole} or a {@link stream}
 * - `piecesOf(schema)`: `handle` returns the text of the JSON piece by piece
 *
 * Kinds of bodies: a schema (JSON), `form(schema)`, `unparsed(schema)`.
 */
export function operation<
  const Path extends string,
  A extends Answer,
  R extends HandledFor<A>,
  Q extends Members = None,
  H extends Members = None,
  B extends Body = never,
  const P extends PresentedFor<A> = PresentedFor<A>,
>(
  definition: Common<Path, Q, H, B> & {
    readonly answer: A
    handle(clients: Clients, input: InputOf<Path, Q, H, B>): R | Promise<R>
    present?(handled: R, input: InputOf<Path, Q, H, B>): P
    publicField?(field: string, input: InputOf<Path, Q, H, B>): string
  } & Presents<A>,
): Operation {
  const { path, query, credentials = credentialsOf(path), errors = [] } = definition
  const family = familyOf(path)
  return { ...definition, family, credentials, errors: [...impliedErrors(path, query), ...errors] } as Operation
}

/** Reasons by the name of a parameter of the path. */
const OF_PARAMETERS: Readonly<Record<string, AnyReason>> = {
  sessionID: 'SESSION_NOT_FOUND',
  messageID: 'MESSAGE_NOT_FOUND',
  requestID: 'PERMISSION_REQUEST_NOT_FOUND',
  agentID: 'AGENT_NOT_FOUND',
  providerID: 'PROVIDER_NOT_FOUND',
  organizationID: 'ORGANIZATION_NOT_FOUND',
  issuerID: 'ISSUER_NOT_FOUND',
  policyID: 'POLICY_NOT_FOUND',
  check: 'CHECK_NOT_FOUND',
  hash: 'API_KEY_NOT_FOUND',
}
const OF_LOCATIONS: readonly AnyReason[] = ['LOCATION_INVALID', 'LOCATION_NOT_FOUND', 'LOCATION_FORBIDDEN']

/** What is named in the path may not exist, and neither may the location of the query. */
function impliedErrors(path: string, query: Members | undefined): readonly AnyReason[] {
  const named = [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) => OF_PARAMETERS[name] ?? [])
  return query !== undefined && 'location' in query.shape ? [...named, ...OF_LOCATIONS] : named
}
