import assert from 'node:assert/strict'
import type { ServiceImpl } from '@connectrpc/connect'
import { Code } from '@connectrpc/connect'
import { PermissionRule_Effect as Effect, Agent_Mode as Mode } from '#gen/portico/catalog/v1/catalog_pb.js'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { says, type ToolScript, type Turn, text } from '#test/support/session-turns.ts'

/** The catalog and the model that sessions of a test call, with the requests that they got. */
export interface Peers {
  /** What the model does next, in order; after the last turn it says "Done." */
  readonly turns: Turn[]
  /** What tools do, by name; any other tool does not exist. */
  readonly tools: Record<string, ToolScript>
  /** Rules of the agent, after `* allow`. */
  readonly rules: { action: string; resource: string; effect: Effect }[]
  /** Agents that others may call; they have the same rules. */
  readonly subagents: { agentId: string; mode?: Mode; description?: string }[]
  /** Steps of the agent; 0: no limit. */
  steps: number | undefined
  /** Tokens of the model’s context; undefined: unknown. */
  contextLength: number | undefined
  /** Whether there is an agent that generates titles. */
  titles: boolean
  /** Whether all calls are run by plugins or MCP servers. */
  external: boolean
  readonly requests: GenerationRequest[]
  readonly principals: Principal[]
  /** Ids of the calls that were started, as the catalog got them. */
  readonly started: string[]
  /** Fences of the calls that were started. */
  readonly fences: bigint[]
  /** Fences that EndTools was called with. */
  readonly ended: bigint[]
  /** Called before PrepareTool answers. */
  onPrepare: () => Promise<void>
  /** Called before EndTools answers. */
  onEnd: () => Promise<void>
  readonly catalog: Routes
  readonly inference: Routes
}

/** Peers with a tool `look` that returns `seen`. */
export function scriptedPeers(): Peers {
  const peers = {
    turns: [] as Turn[],
    tools: { look: says('seen') } as Record<string, ToolScript>,
    rules: [] as Peers['rules'],
    subagents: [] as Peers['subagents'],
    steps: undefined as number | undefined,
    contextLength: undefined as number | undefined,
    titles: false,
    external: false,
    requests: [] as GenerationRequest[],
    principals: [] as Principal[],
    started: [] as string[],
    fences: [] as bigint[],
    ended: [] as bigint[],
    onPrepare: async () => {},
    onEnd: async () => {},
  }
  const reasons = {
    AGENT_NOT_FOUND: { code: Code.NotFound, message: 'no agent' },
    TOOL_NOT_FOUND: { code: Code.NotFound, message: 'no tool' },
    TOOL_UNAVAILABLE: { code: Code.FailedPrecondition, message: 'gone' },
    PROVIDER_UNAVAILABLE: { code: Code.Unavailable, message: 'away' },
    PROVIDER_RATE_LIMITED: { code: Code.ResourceExhausted, message: 'slow down' },
    PROVIDER_REFUSED: { code: Code.FailedPrecondition, message: 'refused' },
    CREDIT_INSUFFICIENT: { code: Code.FailedPrecondition, message: 'too dear' },
    RATE_LIMITED: { code: Code.ResourceExhausted, message: 'too fast' },
    CREDENTIAL_REFUSED: { code: Code.Unauthenticated, message: 'no' },
    PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'nobody' },
  }
  const catalog: Partial<ServiceImpl<typeof CatalogService>> = {
    resolveLocation: async ({ directory = '/project' }) => ({
      location: { directory, project: { projectId: 'global' } },
    }),
    listHooks: async () => ({}),
    readAttachment: async ({ uri }) => ({ data: Buffer.from(uri), mime: 'image/png' }),
    getAgent: async ({ agentId }) => {
      // A request for a title would take a turn of the script.
      if (agentId === 'nobody' || (agentId === 'title' && !peers.titles))
        throw new Rejection('AGENT_NOT_FOUND', { agent_id: agentId })
      const permissions = [{ action: '*', resource: '*', effect: Effect.ALLOW }, ...peers.rules]
      return { agent: { agentId: agentId ?? 'build', permissions, steps: peers.steps }, generation: 'gen_1' }
    },
    listAgents: async () => ({ agents: peers.subagents.map((agent) => ({ mode: Mode.SUBAGENT, ...agent })) }),
    reloadLocations: async () => ({}),
    listTools: async () => ({ tools: Object.keys(peers.tools).map((name) => ({ name, inputSchema: {} })) }),
    prepareTool: async ({ name, input }) => {
      if (peers.tools[name] === undefined) throw new Rejection('TOOL_NOT_FOUND', { name })
      await peers.onPrepare()
      const path = String(input?.path ?? '.')
      return { accesses: [{ action: name, resources: [path] }], savePatterns: [`${path}*`], external: peers.external }
    },
    runTool: (request, context) => {
      peers.started.push(request.callId)
      peers.fences.push(request.fence)
      return (peers.tools[request.name] as ToolScript)(request, context.signal)
    },
    endTools: async ({ fence }) => {
      peers.ended.push(fence)
      await peers.onEnd()
      return {}
    },
  }
  const inference: Partial<ServiceImpl<typeof InferenceService>> = {
    listModels: async () => ({
      defaultModel: 'test/model',
      models: peers.contextLength === undefined ? [] : [{ name: 'test/model', contextLength: peers.contextLength }],
    }),
    async *streamGenerate({ generation: request }, context) {
      assert.ok(request)
      peers.requests.push(request)
      peers.principals.push(principalOf(context))
      const turn = peers.turns.shift() ?? text('Done.')
      for await (const events of turn(request, context.signal)) yield { events }
    },
  }
  return Object.assign(peers, {
    catalog: { domain: 'catalog', reasons, services: [route(CatalogService, catalog as never)] },
    inference: { domain: 'inference', reasons, services: [route(InferenceService, inference as never)] },
  })
}

/** From now on, EndTools answers only once it is released. `reached`: it has been called. */
export function holdEnd(peers: Pick<ReturnType<typeof scriptedPeers>, 'onEnd'>): {
  readonly reached: Promise<void>
  readonly release: () => void
} {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  peers.onEnd = async () => {
    reached.resolve()
    await released.promise
  }
  return { reached: reached.promise, release: released.resolve }
}
