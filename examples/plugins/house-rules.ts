import type { Plugin } from '#services/catalog/adapters/plugins/host/plugin-api.ts'

/**
 * A plugin that registers one thing of each kind. Its options are words that no prompt may contain, and commands that
 * must not run.
 */
const houseRules: Plugin = {
  id: 'house-rules',
  setup({ options, agent, skill, hook, on, tool }) {
    const { secrets = [], forbidden = [] } = (options ?? {}) as { secrets?: string[]; forbidden?: string[] }
    let ended = 0

    agent('reviewer', {
      mode: 'subagent',
      description: 'Reviews changes',
      system: 'Review what you are given. Be brief.',
    })
    skill({
      id: 'commit',
      description: 'How commits are written here',
      text: 'One line, in the imperative, at most 72 characters.',
    })

    hook('instructions', ({ agent }) => (agent === 'plan' ? undefined : 'Follow the house rules of this project.'))
    hook('prompt', ({ text, metadata }) => {
      const masked = secrets.reduce((masked, secret) => masked.replaceAll(secret, '[masked]'), text)
      return masked === text ? undefined : { text: masked, metadata: { ...metadata, masked: true } }
    })
    hook('tool.before', ({ tool, input }) => {
      const word = tool === 'bash' && forbidden.find((word) => String(input.command).includes(word))
      return word ? { refuse: `${word} is not run here` } : undefined
    })
    hook('tool.after', ({ tool, text }) =>
      tool === 'bash' ? { text: `${text}\n(house rules were followed)` } : undefined,
    )

    on('tool.ended', () => {
      ended++
    })
    tool({
      name: 'count_calls',
      description: 'Counts the tool calls that have ended since the plugin was started.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      execute(_input, { progress }) {
        progress({ ended })
        return { content: [{ type: 'text', text: `${ended} calls have ended.` }], metadata: { ended } }
      },
    })
  },
}

export default houseRules
