import type { Agent_Mode, ModelRef, PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** What is added to requests to the provider. */
export interface RequestOverlay {
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  readonly settings: JsonObject
}

/** An agent as one document defines it; absent members are taken from earlier documents. */
export interface AgentEntry {
  readonly name?: string
  readonly description?: string
  readonly mode?: Agent_Mode
  readonly hidden?: boolean
  readonly color?: string
  readonly system?: string
  readonly model?: ModelRef
  readonly steps?: number
  readonly disabled?: boolean
  readonly permissions?: readonly PermissionRule[]
  readonly request?: Partial<RequestOverlay>
}

/** What one file defines about agents. */
export interface AgentDocument {
  /** Rules for all agents. */
  readonly permissions: readonly PermissionRule[]
  readonly defaultAgent?: string
  readonly agents: ReadonlyMap<string, AgentEntry>
  /** Agents whose entries cannot be read; those that are defined elsewhere must ask before everything. */
  readonly malformed?: readonly string[]
}
