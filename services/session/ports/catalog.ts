import type { RunToolResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { Delivery, SessionLocation } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type {
  Agent,
  PinnedLocation,
  PreparedCall,
  Skill,
  SubagentSummary,
  ToolDescription,
  ToolRequest,
} from '../domain/agent.ts'
import type { ReadFile, ToolRun } from '../domain/tool-run.ts'
import type { PeerCall } from './peer-call.ts'

/** The parts of a prompt that plugins may change. */
export interface EditablePrompt {
  readonly text: string
  readonly files: readonly {
    readonly uri: string
    readonly name: string | undefined
    readonly description: string | undefined
  }[]
  /** Ids of what it names. */
  readonly agents: readonly string[]
  readonly skills: readonly string[]
  readonly metadata: JsonObject | undefined
  readonly delivery: Delivery
}

/**
 * The catalog service: directories, agents, tools. Rejects with the reasons of catalog_service.proto, and with
 * PEER_UNAVAILABLE when it can't be reached or does not answer in time.
 */
export interface Catalog {
  /** Undefined: the default directory. With a base, the directory may be relative to it, or begin with `~`. */
  resolveLocation(call: PeerCall, directory: string | undefined, base?: string): Promise<SessionLocation>
  /** Reloads all locations of the caller's workspace. Rejects with LOCATION_RELOAD_FAILED when some could not be. */
  reloadLocations(call: PeerCall): Promise<void>
  /**
   * An undefined id: the location's default agent. With it comes the location as it is now, for the calls of one step.
   * With the id of the session whose step it is, plugins add instructions, and the tools of what has to be started
   * first are known, for which it may wait some seconds.
   */
  getAgent(
    call: PeerCall,
    directory: string,
    agentId: string | undefined,
    sessionId?: string,
  ): Promise<{ agent: Agent; location: PinnedLocation }>
  getSkill(call: PeerCall, directory: string, id: string): Promise<Skill>
  /** Agents that others may call, hidden ones too. */
  listSubagents(call: PeerCall, location: PinnedLocation): Promise<readonly SubagentSummary[]>
  listTools(call: PeerCall, location: PinnedLocation): Promise<readonly ToolDescription[]>
  /** Names of the hooks that plugins of a location have registered. */
  listHooks(call: PeerCall, directory: string): Promise<readonly string[]>
  /** A prompt as changed by the plugins of a location. A plugin that fails leaves it unchanged. */
  editPrompt(
    call: PeerCall,
    directory: string,
    sessionId: string,
    prompt: EditablePrompt,
  ): Promise<{ readonly prompt: EditablePrompt; readonly changedBy: readonly string[] }>
  readAttachment(call: PeerCall, directory: string, uri: string): Promise<ReadFile>
  prepareTool(call: PeerCall, location: PinnedLocation, request: ToolRequest): Promise<PreparedCall>
  /** Runs a call once, for as long as it takes; never to be repeated. */
  runTool(call: PeerCall, run: ToolRun): AsyncIterable<RunToolResponse>
  endTools(call: PeerCall, sessionId: string, fence: number): Promise<void>
}
