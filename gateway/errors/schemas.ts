import { z } from 'zod'
import type { Family } from '../family.ts'
import { routerMetadata } from '../records/router-metadata.ts'
import { MESSAGES_ERROR_TYPES } from './messages-dialect.ts'

/** An error of `/api`. */
function tagged<const T extends string, const S extends z.core.$ZodLooseShape = Record<never, never>>(
  tag: T,
  more?: S,
) {
  return z.strictObject({ _tag: z.literal(tag), message: z.string(), ...(more as S) }).meta({ id: tag })
}

const location = z.strictObject({ directory: z.string() })

/** Errors of `/api`, by their `_tag`. */
export const instanceError = z.discriminatedUnion('_tag', [
  tagged('InvalidRequestError', {
    kind: z.enum(['Payload', 'Query', 'Params', 'Headers', 'empty_session']).optional(),
    field: z.string().optional(),
  }),
  tagged('InvalidCursorError'),
  tagged('UnauthorizedError'),
  tagged('ForbiddenError'),
  tagged('TooManyRequestsError'),
  tagged('NotFoundError'),
  tagged('MethodNotAllowedError'),
  tagged('RequestTimeoutError'),
  tagged('AgentNotFoundError', { agentID: z.string() }),
  tagged('SessionNotFoundError', { sessionID: z.string() }),
  tagged('MessageNotFoundError', { sessionID: z.string(), messageID: z.string() }),
  tagged('ProviderNotFoundError', { providerID: z.string() }),
  tagged('PermissionNotFoundError', { requestID: z.string() }),
  tagged('LocationNotFoundError', { location }),
  tagged('LocationPermissionDeniedError', { location }),
  tagged('ConflictError', { resource: z.string() }),
  tagged('EventsOverflowedError', { service: z.string().meta({ description: 'The service whose reader it was' }) }),
  tagged('ServiceUnavailableError', {
    service: z.string().meta({ description: 'The service that is unavailable, or whose store is' }),
  }),
  tagged('UnknownError', { ref: z.string().regex(/^err_[0-9a-f]{8}$/) }),
])

const param = z.string().optional().meta({ description: 'Path of the invalid member' })

/** What kind of error it is, and where it is about a provider, which one, and its own word for it. */
export const errorMetadata = z.strictObject({
  error_type: z.string(),
  provider_name: z.string().optional(),
  provider_code: z.string().optional(),
})

/** Errors of `/api/v1`. */
const gatewayError = z
  .strictObject({
    error: z.strictObject({
      code: z.int(),
      message: z.string(),
      param,
      metadata: errorMetadata.optional(),
    }),
    openrouter_metadata: routerMetadata.optional(),
  })
  .meta({ id: 'Error' })

/** Errors of `/api/v1/messages`. */
const messagesError = z
  .strictObject({
    type: z.literal('error'),
    error: z.strictObject({ type: z.enum(MESSAGES_ERROR_TYPES), message: z.string(), error_type: z.string(), param }),
    request_id: z.string().nullable().meta({ description: 'Id of the generation, as of X-Generation-Id' }),
    openrouter_metadata: routerMetadata.optional(),
  })
  .meta({ id: 'Messages.Error' })

/** Errors of `/api/v1/oauth` (RFC 6749 section 5.2). */
const oauthError = z.strictObject({ error: z.string(), error_description: z.string() }).meta({ id: 'OAuthError' })

/** The error schema of each family. */
export const errorSchemas: Readonly<Record<Family, z.ZodType>> = {
  instance: instanceError,
  gateway: gatewayError,
  messages: messagesError,
  oauth: oauthError,
}
