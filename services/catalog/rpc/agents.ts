import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { skillList } from '../domain/skill.ts'
import { type CatalogDependencies, type Handlers, useLocation } from './dependencies.ts'

export function agentHandlers(dependencies: CatalogDependencies) {
  const { locations, opened } = dependencies
  return {
    async listAgents(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const { id, agents } = await opened.open(location).generation(request.generation)
      return { location, agents: agents.agents, generation: id }
    },

    async getAgent(request, context) {
      using at = await useLocation(dependencies, request.directory, context)
      const generation = await at.open.generation(request.generation, request.forStep)
      const { agents, defaultId } = generation.agents
      const agentId = request.agentId ?? defaultId
      const agent = agents.find((candidate) => candidate.agentId === agentId)
      if (agent === undefined) throw new Rejection('AGENT_NOT_FOUND', { agent_id: agentId ?? '' })
      const list = skillList(generation.skills, agent.permissions)
      const { plugins } = generation
      const { sessionId } = request
      const hasHook = sessionId !== undefined && plugins.hooks.has('instructions')
      const ofPlugins = hasHook ? await plugins.instructions({ sessionId, agent: agent.agentId }, context.signal) : []
      const instructions = [...generation.instructions, ...(list === undefined ? [] : [list]), ...ofPlugins]
      return { location: at.location, agent, generation: generation.id, instructions }
    },

    async listSkills(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const { id, skills } = await opened.open(location).generation()
      return { location, skills, generation: id }
    },

    async getSkill({ directory, skillId }, context) {
      const location = await locations.resolve(principalOf(context), directory)
      const { skills } = await opened.open(location).generation()
      const skill = skills.find((candidate) => candidate.skillId === skillId)
      if (skill === undefined) throw new Rejection('SKILL_NOT_FOUND', { skill_id: skillId.slice(0, 256) })
      return { skill }
    },
  } satisfies Handlers
}
