import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { closingReasons } from '#shared/rpc/server-reasons.ts'

/** What the catalog service rejects with. */
export const reasons = {
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'The call names no principal' },
  REQUEST_INVALID: { code: Code.InvalidArgument, message: '{field}: {problem}' },
  LOCATION_INVALID: { code: Code.InvalidArgument, message: '{directory} is not a project directory: {problem}' },
  LOCATION_NOT_FOUND: { code: Code.NotFound, message: 'Directory not found: {directory}' },
  LOCATION_FORBIDDEN: { code: Code.PermissionDenied, message: 'Directory not allowed: {directory}{problem}' },
  LOCATION_RELOAD_FAILED: { code: Code.Unavailable, message: 'Locations could not be reloaded: {problems}' },
  LOCATION_GENERATION_GONE: {
    code: Code.FailedPrecondition,
    message: '{directory} offers something else by now: generation {generation} is gone',
  },
  AGENT_NOT_FOUND: { code: Code.NotFound, message: 'Agent not found: {agent_id}' },
  SKILL_NOT_FOUND: { code: Code.NotFound, message: 'Skill not found: {skill_id}' },
  PLUGIN_NOT_FOUND: { code: Code.NotFound, message: 'No plugin here is the package {target}' },
  PLUGINS_NOT_UPDATED: { code: Code.FailedPrecondition, message: '{problem}' },
  ATTACHMENT_INVALID: { code: Code.InvalidArgument, message: 'The attachment cannot be read: {problem}' },
  TOOL_NOT_FOUND: { code: Code.NotFound, message: 'Tool not found: {name}' },
  TOOL_INPUT_INVALID: { code: Code.InvalidArgument, message: 'Invalid input for {name}: {problem}' },
  TOOL_UNAVAILABLE: { code: Code.FailedPrecondition, message: '{name} cannot be called: {problem}' },
  TOOL_REFUSED: { code: Code.PermissionDenied, message: 'A plugin refused the call of {name}: {problem}' },
  TOOL_FENCED: { code: Code.Aborted, message: 'A newer owner runs the session' },
  TOOL_CALL_STARTED: { code: Code.AlreadyExists, message: 'The call was started before: {call_id}' },
  ...closingReasons,
  TOOL_ACCESS_CHANGED: {
    code: Code.FailedPrecondition,
    message: 'The call touches other things than permission was given for',
  },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    catalog: keyof typeof reasons
  }
}
