/** Claude models that decide themselves how they sample and how long they think: the API refuses settings of either. */
const DECIDING = /^claude-((opus-4-([789]|\d\d)|(opus|sonnet|haiku)-([5-9]|\d\d))(?!\d)|fable|mythos)/
/** Models that accept instructions between the turns of a conversation, besides those whose callers say so. */
const INSTRUCTED = /^claude-(opus-(4-([89]|\d\d)|[5-9]|\d\d)(?!\d)|fable|mythos)/
/**
 * Earlier models, and those of other makers, accept both a temperature and a `top_p`; the ones between refuse them
 * together.
 */
const TAKES_BOTH = /^(?!claude-)|^claude-(3-|(opus|sonnet)-4-(0|20\d{6})(-|$))/
/** Models that do not think at all; of their generation, only 3.7 does. */
const THOUGHTLESS = /^claude-3-(?!7-)/
/** Models whose thinking has a budget of tokens; later ones decide by effort. */
const BY_BUDGET = /^claude-(3-7-|(opus|sonnet|haiku)-4-([015]|20\d{6})(-|$))/
/** Models that think by effort, but have no level between `high` and `max`. */
const WITHOUT_XHIGH = /^claude-((opus|sonnet)-4-6|mythos-preview)(-|$)/

/** What a model accepts, as far as the API distinguishes models. */
export const models = {
  decides: (modelId: string): boolean => DECIDING.test(modelId),
  isInstructed: (modelId: string): boolean => INSTRUCTED.test(modelId),
  takesBoth: (modelId: string): boolean => TAKES_BOTH.test(modelId),
  thinks: (modelId: string): boolean => !THOUGHTLESS.test(modelId),
  thinksByBudget: (modelId: string): boolean => BY_BUDGET.test(modelId),
  takesXhigh: (modelId: string): boolean => !WITHOUT_XHIGH.test(modelId),
} as const
