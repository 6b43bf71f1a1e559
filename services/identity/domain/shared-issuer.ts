/** What becomes of a policy that lets in everybody who uses a shared issuer. */
export type SharedIssuers = 'warn' | 'refuse'

/** No beginning of subjects names anybody: they are ids without parts. */
const OPAQUE = /(?!)/

/**
 * Issuers that give tokens to everybody who uses a public service (an organization's own are at other addresses), and what subjects have to
 * begin with so that they are those of one of its users: up to the separator that ends the name, since others may have a longer one.
 */
const SHARED: ReadonlyMap<string, RegExp> = new Map([
  [
    'https://token.actions.githubusercontent.com',
    /^(?:repo|repository|repository_id|repository_owner|repository_owner_id):[^/:@]+[/:@]/,
  ],
  ['https://gitlab.com', /^project_path:[^/:]+[/:]/],
  ['https://accounts.google.com', OPAQUE],
  ['https://agent.buildkite.com', /^organization:[^:]+:/],
  ['https://app.terraform.io', /^organization:[^:]+:/],
  ['https://api.pulumi.com/oidc', /^pulumi:[^:]+:org:[^:]+:/],
  ['https://oidc.codefresh.io', /^account:[^:]+:/],
  ['https://oidc.vercel.com', /^owner:[^:]+:/],
  ['https://identity.depot.dev', /./],
  ['https://cognito-identity.amazonaws.com', OPAQUE],
  ['https://appleid.apple.com', OPAQUE],
])

/**
 * What is unwise about a policy for the tokens of an issuer: everybody who uses a shared one would be let in. `isPinned`: whether the policy
 * admits certain subjects only, where `names` says whether a beginning of subjects is that of certain ones. Undefined: nothing.
 */
export function sharedIssuerWarning(
  issuerUrl: string,
  isPinned: (names: (beginning: string) => boolean) => boolean,
): string | undefined {
  const certain = SHARED.get(issuerUrl.toLowerCase().replace(/\/$/, ''))
  if (certain === undefined || isPinned((beginning) => certain.test(beginning))) return undefined
  return (
    `${issuerUrl} gives tokens to everybody who uses it: without a subject, or a condition on the subject that names whose it is ` +
    '(by ==, by in, or by a startsWith that goes on to the separator after the name), anybody may be let in'
  )
}
