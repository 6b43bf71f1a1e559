import { create } from '@bufbuild/protobuf'
import type { CallOptions, Client, Transport } from '@connectrpc/connect'
import { Agent_Mode, type Agent as AgentMessage } from '#gen/portico/catalog/v1/catalog_pb.js'
import { CatalogService, type RunToolResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Delivery, type SessionLocation, SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import type {
  Agent,
  PinnedLocation,
  PreparedCall,
  RequestTimeouts,
  Skill,
  SubagentSummary,
  ToolDescription,
  ToolRequest,
} from '#services/session/domain/agent.ts'
import type { ReadFile, ToolRun } from '#services/session/domain/tool-run.ts'
import type { Catalog, EditablePrompt } from '#services/session/ports/catalog.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { createClient } from '#shared/rpc/client.ts'
import { peerError, peerStream } from './peer-errors.ts'
import { peerOptions } from './peer-options.ts'

const TIMEOUT_MS = 20_000
/** The longest time that a message can express: 24 days. */
const MAX_MS = 2 ** 31 - 1

/** The catalog service, called by RPC. */
export class RpcCatalogPeer implements Catalog {
  readonly #client: Client<typeof CatalogService>

  constructor(transport: Transport) {
    this.#client = createClient(CatalogService, transport)
  }

  async resolveLocation(
    call: PeerCall,
    directory: string | undefined,
    baseDirectory?: string,
  ): Promise<SessionLocation> {
    const request = { directory, baseDirectory }
    const { location } = await unary(call, (options) => this.#client.resolveLocation(request, options))
    const { projectId, subpath, directory: resolved } = given(location)
    return create(SessionLocationSchema, { directory: resolved, projectId, subpath })
  }

  async reloadLocations(call: PeerCall): Promise<void> {
    await unary(call, (options) => this.#client.reloadLocations({}, options))
  }

  async getAgent(
    call: PeerCall,
    directory: string,
    agentId: string | undefined,
    sessionId?: string,
  ): Promise<{ agent: Agent; location: PinnedLocation }> {
    const request = { directory, agentId, sessionId, forStep: sessionId !== undefined }
    const answer = await unary(call, (options) => this.#client.getAgent(request, options))
    const { agent, generation, instructions } = answer
    return {
      agent: { ...toAgent(given(agent)), instructions },
      location: { directory, ...(generation !== '' && { generation }) },
    }
  }

  async getSkill(call: PeerCall, directory: string, skillId: string): Promise<Skill> {
    const { skill } = await unary(call, (options) => this.#client.getSkill({ directory, skillId }, options))
    const { name, text } = given(skill)
    return { id: skillId, name, text }
  }

  async listSubagents(call: PeerCall, location: PinnedLocation): Promise<readonly SubagentSummary[]> {
    const { agents } = await unary(call, (options) => this.#client.listAgents({ ...location }, options))
    const callable = agents.filter(({ mode }) => mode === Agent_Mode.SUBAGENT || mode === Agent_Mode.ALL)
    return callable.map(({ agentId, description, model }) => ({ id: agentId, description, model }))
  }

  async listTools(call: PeerCall, location: PinnedLocation): Promise<readonly ToolDescription[]> {
    const { tools } = await unary(call, (options) => this.#client.listTools({ ...location }, options))
    return tools.map(({ name, description, inputSchema = {} }) => ({ name, description, inputSchema }))
  }

  async listHooks(call: PeerCall, directory: string): Promise<readonly string[]> {
    return (await unary(call, (options) => this.#client.listHooks({ directory }, options))).names
  }

  async editPrompt(call: PeerCall, directory: string, sessionId: string, prompt: EditablePrompt) {
    const { delivery, files, agents, skills, ...rest } = prompt
    const names = { agents: [...agents], skills: [...skills] }
    const sent = { ...rest, names, files: [...files], queued: delivery === Delivery.QUEUE }
    const request = { directory, sessionId, prompt: sent }
    const answer = await unary(call, (options) => this.#client.editPrompt(request, options))
    const { text, files: edited, names: named = names, metadata, queued } = given(answer.prompt)
    const kept = edited.map(({ uri, name, description }) => ({ uri, name, description }))
    const { agents: newAgents, skills: newSkills } = named
    const words = { text, files: kept, agents: newAgents, skills: newSkills, metadata }
    const wanted = queued ? Delivery.QUEUE : Delivery.STEER
    return { prompt: { ...words, delivery: wanted }, changedBy: answer.changedBy }
  }

  async readAttachment(call: PeerCall, directory: string, uri: string): Promise<ReadFile> {
    const { data, mime, name } = await unary(call, (options) =>
      this.#client.readAttachment({ directory, uri }, options),
    )
    return { data, mime, name }
  }

  async prepareTool(call: PeerCall, location: PinnedLocation, given: ToolRequest): Promise<PreparedCall> {
    const request = { ...location, ...given }
    const answer = await unary(call, (options) => this.#client.prepareTool(request, options))
    const { accesses, savePatterns, external, input = given.input } = answer
    const kept = accesses.map(({ action, resources, guardedPath }) => ({ action, resources, guardedPath }))
    return { accesses: kept, savePatterns, external, input }
  }

  async *runTool(call: PeerCall, { fence, grant, location, ...run }: ToolRun): AsyncGenerator<RunToolResponse> {
    const accesses = grant.map(({ resources, ...access }) => ({ ...access, resources: [...resources] }))
    const request = { ...run, ...location, fence: BigInt(fence), grant: accesses }
    yield* peerStream('catalog', this.#client.runTool(request, peerOptions(call)), call)
  }

  async endTools(call: PeerCall, sessionId: string, fence: number): Promise<void> {
    await unary(call, (options) => this.#client.endTools({ sessionId, fence: BigInt(fence) }, options))
  }
}

async function unary<T>(call: PeerCall, run: (options: CallOptions) => Promise<T>): Promise<T> {
  try {
    return await run(peerOptions(call, TIMEOUT_MS))
  } catch (error) {
    throw peerError('catalog', error, call)
  }
}

function toAgent(agent: AgentMessage): Omit<Agent, 'instructions'> {
  const { agentId, system, model, steps, permissions, requestHeaders, requestBody, requestSettings } = agent
  return {
    id: agentId,
    system,
    model,
    steps,
    permissions,
    requestHeaders,
    requestBody,
    requestTimeouts: toTimeouts(requestSettings),
  }
}

/** The time limits in the settings of an agent's requests; `false` means the limits of the inference service. */
function toTimeouts({ timeout, headerTimeout, chunkTimeout }: JsonObject = {}): RequestTimeouts {
  return { ...time('totalMs', timeout), ...time('headersMs', headerTimeout), ...time('chunkMs', chunkTimeout) }
}

function time(name: keyof RequestTimeouts, value: unknown): RequestTimeouts {
  return typeof value === 'number' && value > 0 ? { [name]: Math.min(Math.ceil(value), MAX_MS) } : {}
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Rejection('PEER_UNAVAILABLE', { peer: 'catalog', problem: 'The answer is empty' })
  return value
}
