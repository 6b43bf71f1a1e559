import type { AgentEntry, PermissionRule } from './agent.ts'

const rule = (action: string, resource: string, effect: PermissionRule['effect']): PermissionRule => ({
  action,
  resource,
  effect,
})

const ENVIRONMENT_FILES = [
  rule('read', '*.env', 'ask'),
  rule('read', '*.env.*', 'ask'),
  rule('read', '*.env.example', 'allow'),
]

/** Rules that precede all others (instance facts 3.12). */
export const DEFAULT_RULES: readonly PermissionRule[] = [
  rule('*', '*', 'allow'),
  rule('external_directory', '*', 'ask'),
  rule('mcp', '*', 'ask'),
  ...ENVIRONMENT_FILES,
]

/** The rule in place of rules that cannot be read. */
export const ASK_ALWAYS = rule('*', '*', 'ask')

const NOTHING = [rule('*', '*', 'deny')]

const SEARCH_ONLY = [
  ...NOTHING,
  ...['read', 'list', 'glob', 'grep'].map((action) => rule(action, '*', 'allow')),
  // A command may change anything.
  rule('bash', '*', 'ask'),
  ...ENVIRONMENT_FILES,
]

/** Agents that exist without configuration, in the order of the list. */
export const BUILTIN_AGENTS: ReadonlyMap<string, AgentEntry> = new Map<string, AgentEntry>([
  ['build', { mode: 'primary', description: 'Works on the project with every tool that its permissions allow' }],
  [
    'plan',
    {
      mode: 'primary',
      description: 'Reads and plans; changes no files except its plans',
      system:
        'You are planning. Study the project, ask what is unclear, and write down what should be done and in which ' +
        'order. Change nothing: the only files that you may write are plans, as Markdown, in .opencode/plans/.',
      // Files in .opencode are guarded, so permission is also requested for a plan. A command may change anything.
      permissions: [
        ...[rule('edit', '*', 'deny'), rule('edit', '.opencode/plans/*.md', 'allow'), rule('bash', '*', 'ask')],
        ...[rule('task', '*', 'deny'), rule('task', 'explore', 'allow')],
      ],
    },
  ],
  ['general', { mode: 'subagent', description: 'Works on one part of a larger task, or researches a question' }],
  [
    'explore',
    {
      mode: 'subagent',
      description: 'Finds files and passages in the project, fast and without changing anything',
      system:
        'You find things in a project. Search broadly, then read what matters. Answer with the paths and the facts ' +
        'that were asked for, and nothing else. Do not change files.',
      permissions: SEARCH_ONLY,
    },
  ],
  [
    'compaction',
    {
      mode: 'primary',
      hidden: true,
      description: 'Summarizes a conversation so that it can continue with less context',
      system:
        'Summarize the conversation so that somebody can go on with it who has not read it: the goal, what was decided ' +
        'and why, what was done, which files matter, and what comes next. Do not answer questions in it.',
      permissions: NOTHING,
    },
  ],
  [
    'title',
    {
      mode: 'primary',
      hidden: true,
      description: 'Finds a title for a conversation',
      system: 'Answer with a title for the conversation: one line, at most 50 characters, no quotation marks.',
      permissions: NOTHING,
    },
  ],
  [
    'summary',
    {
      mode: 'primary',
      hidden: true,
      description: 'Says in a few words what was done',
      system:
        'Say in two or three sentences what was done in the conversation, as its author would put it to a colleague.',
      permissions: NOTHING,
    },
  ],
])
