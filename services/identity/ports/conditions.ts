/** The claims that a condition is about. */
export interface ConditionClaims {
  readonly subject: string
  readonly audience: readonly string[]
  /** Empty when the token has none. */
  readonly scopes: readonly string[]
  /** Empty when the token has none. */
  readonly tokenType: string
}

/** A condition that may be saved. */
export interface Condition {
  /**
   * Whether it is true for such subjects only as it names; `names` says whether a beginning of subjects names somebody. False where that
   * cannot be seen.
   */
  readonly pinsSubject: (names: (beginning: string) => boolean) => boolean
  /** Whether it looks at `scopes`, or at `token_type`, so that a claim of the wrong type refuses the token. */
  readonly usesScopes: boolean
  readonly usesTokenType: boolean
  /** What it says of the claims; `error`: it could not be evaluated, which does not count as true. Never throws, and takes at most 5 ms. */
  evaluate(claims: ConditionClaims): boolean | 'error'
}

/** Why a text is no condition, for an admin: `problem` completes a sentence that begins with `condition`, and names the place. */
export interface ConditionProblem {
  readonly problem: string
}

/** Reads conditions (CEL). */
export interface Conditions {
  /**
   * Reads, type-checks and bounds a condition, the same way when it is saved and when it is used. What was read before is kept, up to a
   * bound. Pure; never throws.
   */
  read(text: string): Condition | ConditionProblem
}
