import { create } from '@bufbuild/protobuf'
import {
  PermissionRule_Effect as Effect,
  Agent_Mode as Mode,
  type PermissionRule,
  PermissionRuleSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AgentEntry } from './agent.ts'

export function rule(action: string, resource: string, effect: Effect): PermissionRule {
  return create(PermissionRuleSchema, { action, resource, effect })
}

const ENVIRONMENT_FILES = [
  rule('read', '*.env', Effect.ASK),
  rule('read', '*.env.*', Effect.ASK),
  rule('read', '*.env.example', Effect.ALLOW),
]

/** Rules that precede all others. */
export const DEFAULT_RULES: readonly PermissionRule[] = [
  rule('*', '*', Effect.ALLOW),
  rule('external_directory', '*', Effect.ASK),
  rule('mcp', '*', Effect.ASK),
  ...ENVIRONMENT_FILES,
]

/** The rule in place of rules that cannot be read. */
export const ASK_ALWAYS = rule('*', '*', Effect.ASK)

const NOTHING = [rule('*', '*', Effect.DENY)]

const SEARCH_ONLY = [
  ...NOTHING,
  ...['read', 'list', 'glob', 'grep'].map((action) => rule(action, '*', Effect.ALLOW)),
  // A command may change anything.
  rule('bash', '*', Effect.ASK),
  ...ENVIRONMENT_FILES,
]

/** Agents that exist without configuration, in the order of the list. */
export const BUILTIN_AGENTS: ReadonlyMap<string, AgentEntry> = new Map<string, AgentEntry>([
  ['build', { mode: Mode.PRIMARY, description: 'Works on the project with every tool that its permissions allow' }],
  [
    'plan',
    {
      mode: Mode.PRIMARY,
      description: 'Reads and plans; changes no files except its plans',
      system:
        'You are planning. Study the project, ask what is unclear, and write down what should be done and in which ' +
        'order. Change nothing: the only files that you may write are plans, as Markdown, in .opencode/plans/.',
      // Files in .opencode are guarded, so permission is also requested for a plan. A command may change anything.
      permissions: [
        ...[
          rule('edit', '*', Effect.DENY),
          rule('edit', '.opencode/plans/*.md', Effect.ALLOW),
          rule('bash', '*', Effect.ASK),
        ],
        ...[rule('task', '*', Effect.DENY), rule('task', 'explore', Effect.ALLOW)],
      ],
    },
  ],
  ['general', { mode: Mode.SUBAGENT, description: 'Works on one part of a larger task, or researches a question' }],
  [
    'explore',
    {
      mode: Mode.SUBAGENT,
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
      mode: Mode.PRIMARY,
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
      mode: Mode.PRIMARY,
      hidden: true,
      description: 'Finds a title for a conversation',
      system: 'Answer with a title for the conversation: one line, at most 50 characters, no quotation marks.',
      permissions: NOTHING,
    },
  ],
  [
    'summary',
    {
      mode: Mode.PRIMARY,
      hidden: true,
      description: 'Says in a few words what was done',
      system:
        'Say in two or three sentences what was done in the conversation, as its author would put it to a colleague.',
      permissions: NOTHING,
    },
  ],
])
