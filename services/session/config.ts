import { z } from 'zod'
import { readEnvironment } from '#shared/config/config.ts'
import { type StoreConfig, storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'
import { booleanVariable, type Environment, integerVariable } from '#shared/config/variables.ts'

export interface Config {
  readonly store: StoreConfig
  /**
   * Most sessions that one process runs at once (`PORTICO_SESSION_MAX_RUNS`, default 64). Those that wait for a person
   * or for the next try are not among them.
   */
  readonly maxRuns: number
  /** After this time a session whose owner is silent is taken over (`PORTICO_SESSION_LEASE_SECONDS`, default 15). */
  readonly leaseMs: number
  /**
   * Whether runs that a stop or crash cut off go on (`PORTICO_SESSION_AUTO_RESUME`, default true); otherwise they end
   * as interrupted, and what waited is parked.
   */
  readonly autoResume: boolean
  /**
   * How much of a model's context is used up, in percent, when a conversation is summarized before its next step
   * (`PORTICO_COMPACTION_PERCENT`, default 80).
   */
  readonly compactionPercent: number
  /** How long a permission request waits for an answer (`PORTICO_PERMISSION_TIMEOUT`, seconds, default 300). */
  readonly permissionTimeoutMs: number
  /**
   * How many sessions may work for one another, each for the one above it (`PORTICO_TASK_DEPTH`, default 5; 0: no
   * `task` tool).
   */
  readonly taskDepth: number
  /** How long a task of a subagent takes at most (`PORTICO_TASK_TIMEOUT`, seconds, default 3,600). */
  readonly taskTimeoutMs: number
  /** How long events are kept (`PORTICO_EVENT_DAYS`, default 7). */
  readonly eventRetentionMs: number
}

const variables = z.object({
  ...storeVariables,
  PORTICO_SESSION_MAX_RUNS: integerVariable({ min: 1, max: 10_000 }).default(64),
  PORTICO_SESSION_LEASE_SECONDS: integerVariable({ min: 1, max: 3_600 }).default(15),
  PORTICO_SESSION_AUTO_RESUME: booleanVariable().default(true),
  PORTICO_COMPACTION_PERCENT: integerVariable({ min: 10, max: 100 }).default(80),
  PORTICO_PERMISSION_TIMEOUT: integerVariable({ min: 1, max: 86_400 }).default(300),
  PORTICO_TASK_DEPTH: integerVariable({ min: 0, max: 20 }).default(5),
  PORTICO_TASK_TIMEOUT: integerVariable({ min: 1, max: 86_400 }).default(3_600),
  PORTICO_EVENT_DAYS: integerVariable({ min: 1, max: 3_650 }).default(7),
})

/** Reads the settings of the session service. Throws ConfigError with every problem. */
export function readConfig(env: Environment): Config {
  const values = readEnvironment(variables, env, storeSecrets)
  return Object.freeze({
    store: storeOf(values),
    maxRuns: values.PORTICO_SESSION_MAX_RUNS,
    leaseMs: values.PORTICO_SESSION_LEASE_SECONDS * 1_000,
    autoResume: values.PORTICO_SESSION_AUTO_RESUME,
    compactionPercent: values.PORTICO_COMPACTION_PERCENT,
    permissionTimeoutMs: values.PORTICO_PERMISSION_TIMEOUT * 1_000,
    taskDepth: values.PORTICO_TASK_DEPTH,
    taskTimeoutMs: values.PORTICO_TASK_TIMEOUT * 1_000,
    eventRetentionMs: values.PORTICO_EVENT_DAYS * 86_400_000,
  })
}
