/** The claims that a condition uses. */
export interface ConditionClaims {
  readonly subject: string
  readonly audience: readonly string[]
  /** Empty if the token has none. */
  readonly scopes: readonly string[]
  /** Empty if the token has none. */
  readonly tokenType: string
}

/** A valid condition. */
export interface Condition {
  /**
   * Whether it is true only for subjects that it names; `names` decides whether a prefix of subjects names somebody.
   * False if that cannot be determined.
   */
  readonly pinsSubject: (names: (beginning: string) => boolean) => boolean
  /** Whether it uses `scopes`, or `token_type`, so that a claim of the wrong type refuses the token. */
  readonly usesScopes: boolean
  readonly usesTokenType: boolean
  /**
   * Evaluates it for claims; `error`: it could not be evaluated within 5 ms of CPU time, which does not count as true.
   * Never throws.
   */
  evaluate(claims: ConditionClaims): boolean | 'error'
}

/**
 * Why a text is not a condition, for an admin: `problem` completes a sentence that begins with `condition`, and names
 * the place.
 */
export interface ConditionProblem {
  readonly problem: string
}

/** Parses conditions (CEL). */
export interface Conditions {
  /**
   * Parses, checks and limits a condition, in the same way when it is saved and when it is used. Results are
   * cached, up to a limit. Pure; never throws.
   */
  read(text: string): Condition | ConditionProblem
}
