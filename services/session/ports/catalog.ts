import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Agent, EditedPrompt, Skill, Tool } from '#gen/portico/catalog/v1/catalog_pb.js'
import type {
  EditPromptResponse,
  GetAgentResponse,
  PrepareToolResponse,
  ReadAttachmentResponse,
  RunToolRequestSchema,
  RunToolResponse,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { SessionLocation } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { PeerCall } from './peer-call.ts'

/** A location as one step sees it: with the id of the generation that was current when the step began. */
export interface PinnedLocation {
  readonly directory: string
  readonly generation: string
}

/** A tool call, before it is checked. */
export interface ToolRequest {
  readonly sessionId: string
  readonly name: string
  readonly input: JsonObject
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
   * An undefined id: the location's default agent. With the id of the session whose step it is, plugins add
   * instructions, and the tools of what has to be started first are known, for which it may wait some seconds.
   */
  getAgent(
    call: PeerCall,
    directory: string,
    agentId: string | undefined,
    sessionId?: string,
  ): Promise<Pick<GetAgentResponse, 'generation' | 'instructions'> & { readonly agent: Agent }>
  getSkill(call: PeerCall, directory: string, id: string): Promise<Skill>
  /** Agents that others may call, hidden ones too. */
  listSubagents(call: PeerCall, location: PinnedLocation): Promise<readonly Agent[]>
  listTools(call: PeerCall, location: PinnedLocation): Promise<readonly Tool[]>
  /** Names of the hooks that plugins of a location have registered. */
  listHooks(call: PeerCall, directory: string): Promise<readonly string[]>
  /** A prompt as changed by the plugins of a location. A plugin that fails leaves it unchanged. */
  editPrompt(
    call: PeerCall,
    directory: string,
    sessionId: string,
    prompt: EditedPrompt,
  ): Promise<Pick<EditPromptResponse, 'changedBy'> & { readonly prompt: EditedPrompt }>
  readAttachment(
    call: PeerCall,
    directory: string,
    uri: string,
  ): Promise<Pick<ReadAttachmentResponse, 'data' | 'mime' | 'name'>>
  prepareTool(call: PeerCall, location: PinnedLocation, request: ToolRequest): Promise<PrepareToolResponse>
  /** Runs a call once, for as long as it takes; never to be repeated. */
  runTool(call: PeerCall, request: MessageInitShape<typeof RunToolRequestSchema>): AsyncIterable<RunToolResponse>
  endTools(call: PeerCall, sessionId: string, fence: number): Promise<void>
}
