import { create } from '@bufbuild/protobuf'
import { EditedPromptSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseRequired } from '#shared/rpc/parse.ts'
import { joinProblems } from '../domain/plugins/plugin.ts'
import { type CatalogDependencies, type Handlers, useLocation } from './dependencies.ts'

export function pluginHandlers(dependencies: CatalogDependencies) {
  const { locations, opened, packages } = dependencies
  return {
    async listPlugins(request, context) {
      using at = await useLocation(dependencies, request.directory, context)
      await (await at.open.generation()).plugins.settled(context.signal)
      const { plugins } = await at.open.generation()
      return { location: at.location, plugins: plugins.list }
    },

    async checkPlugins(request, context) {
      using at = await useLocation(dependencies, request.directory, context)
      const all = (await at.open.generation()).plugins.packages
      const { target } = request
      const wanted = target === undefined ? all : all.filter((one) => one.target === target)
      if (target !== undefined && wanted.length === 0) {
        throw new Rejection('PLUGIN_NOT_FOUND', { field: 'target', target })
      }
      const allowed = wanted.filter(({ problem }) => problem === undefined).map(({ target }) => target)
      await packages.check(allowed, context.signal)
      const { plugins } = await at.open.generation()
      return { location: at.location, plugins: plugins.list }
    },

    // Locations that use them notice it by themselves.
    async updatePlugins(request, context) {
      using at = await useLocation(dependencies, request.directory, context)
      const all = (await at.open.generation()).plugins.packages
      const wanted = [...new Set(request.targets)].map((target) => {
        const one = all.find((candidate) => candidate.target === target)
        if (one === undefined) throw new Rejection('PLUGIN_NOT_FOUND', { field: 'targets', target })
        return one
      })
      const outcomes = await Promise.all(
        wanted.map(async ({ target, problem }) => {
          if (problem !== undefined) return { target, problem }
          return await packages.update(target, context.signal).then(
            () => undefined,
            (error: unknown) => ({ target, problem: problemOf(error, context.signal) }),
          )
        }),
      )
      const failures = outcomes.filter((outcome) => outcome !== undefined)
      if (failures.length > 0) throw new Rejection('PLUGINS_NOT_UPDATED', { problem: joinProblems(failures) })
      return {}
    },

    async listHooks(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const { plugins } = await opened.open(location).generation()
      return { names: [...plugins.hooks] }
    },

    async editPrompt(request, context) {
      const sessionId = parseRequired('session_id', request.sessionId)
      using at = await useLocation(dependencies, request.directory, context)
      const { plugins, agents, skills } = await at.open.generation()
      const names = {
        agents: new Set(agents.agents.map(({ agentId }) => agentId)),
        skills: new Set(skills.map(({ skillId }) => skillId)),
      }
      const prompt = request.prompt ?? create(EditedPromptSchema)
      return await plugins.prompt(prompt, { sessionId, names }, context.signal)
    },
  } satisfies Handlers
}

/** Throws the signal's reason if it has aborted. */
function problemOf(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted()
  return error instanceof Error ? error.message : String(error)
}
