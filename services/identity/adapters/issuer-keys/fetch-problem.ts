/** Why keys could not be fetched: one line for admins, which repeats nothing of what was fetched. */
export class FetchProblem extends Error {
  override readonly name = 'FetchProblem'
}
