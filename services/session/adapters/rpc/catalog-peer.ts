import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { CallOptions, Client, Transport } from '@connectrpc/connect'
import { Agent_Mode, type EditedPrompt } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  CatalogService,
  type RunToolRequestSchema,
  type RunToolResponse,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import type { Catalog, PinnedLocation, ToolRequest } from '#services/session/ports/catalog.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { Rejection } from '#shared/rejection.ts'
import { createClient } from '#shared/rpc/client.ts'
import { peerError, peerStream } from './peer-errors.ts'
import { peerOptions } from './peer-options.ts'

const TIMEOUT_MS = 20_000

export class RpcCatalogPeer implements Catalog {
  readonly #client: Client<typeof CatalogService>

  constructor(transport: Transport) {
    this.#client = createClient(CatalogService, transport)
  }

  async resolveLocation(call: PeerCall, directory: string | undefined, baseDirectory?: string) {
    const request = { directory, baseDirectory }
    const { location } = await unary(call, (options) => this.#client.resolveLocation(request, options))
    const { projectId, subpath, directory: resolved } = required(location)
    return create(SessionLocationSchema, { directory: resolved, projectId, subpath })
  }

  async reloadLocations(call: PeerCall): Promise<void> {
    await unary(call, (options) => this.#client.reloadLocations({}, options))
  }

  async getAgent(call: PeerCall, directory: string, agentId: string | undefined, sessionId?: string) {
    const request = { directory, agentId, sessionId, forStep: sessionId !== undefined }
    const answer = await unary(call, (options) => this.#client.getAgent(request, options))
    return { ...answer, agent: required(answer.agent) }
  }

  async getSkill(call: PeerCall, directory: string, skillId: string) {
    const { skill } = await unary(call, (options) => this.#client.getSkill({ directory, skillId }, options))
    return required(skill)
  }

  async listSubagents(call: PeerCall, location: PinnedLocation) {
    const { agents } = await unary(call, (options) => this.#client.listAgents({ ...location }, options))
    return agents.filter(({ mode }) => mode === Agent_Mode.SUBAGENT || mode === Agent_Mode.ALL)
  }

  async listTools(call: PeerCall, location: PinnedLocation) {
    return (await unary(call, (options) => this.#client.listTools({ ...location }, options))).tools
  }

  async listHooks(call: PeerCall, directory: string) {
    return (await unary(call, (options) => this.#client.listHooks({ directory }, options))).names
  }

  async editPrompt(call: PeerCall, directory: string, sessionId: string, prompt: EditedPrompt) {
    const request = { directory, sessionId, prompt }
    const answer = await unary(call, (options) => this.#client.editPrompt(request, options))
    return { ...answer, prompt: required(answer.prompt) }
  }

  async readAttachment(call: PeerCall, directory: string, uri: string) {
    return await unary(call, (options) => this.#client.readAttachment({ directory, uri }, options))
  }

  async prepareTool(call: PeerCall, location: PinnedLocation, request: ToolRequest) {
    return await unary(call, (options) => this.#client.prepareTool({ ...location, ...request }, options))
  }

  async *runTool(
    call: PeerCall,
    request: MessageInitShape<typeof RunToolRequestSchema>,
  ): AsyncGenerator<RunToolResponse> {
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

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Rejection('PEER_UNAVAILABLE', { peer: 'catalog', problem: 'The answer is empty' })
  return value
}
