/** What becomes of a policy that lets in everybody who uses a shared issuer. */
export type SharedIssuers = 'warn' | 'refuse'

/** Issuers that give tokens to everybody who uses a public service; an organization's own are at other addresses. */
const SHARED: ReadonlySet<string> = new Set([
  'https://token.actions.githubusercontent.com',
  'https://gitlab.com',
  'https://accounts.google.com',
  'https://agent.buildkite.com',
  'https://app.terraform.io',
  'https://api.pulumi.com/oidc',
  'https://oidc.codefresh.io',
  'https://oidc.vercel.com',
  'https://identity.depot.dev',
  'https://cognito-identity.amazonaws.com',
  'https://appleid.apple.com',
])

/**
 * What is unwise about a policy for the tokens of an issuer: everybody who uses a shared one would be let in. `pinned`: the policy names
 * a subject, or has a condition that looks at it. Undefined: nothing.
 */
export function sharedIssuerWarning(issuerUrl: string, pinned: boolean): string | undefined {
  if (pinned || !SHARED.has(issuerUrl.toLowerCase().replace(/\/$/, ''))) return undefined
  return `${issuerUrl} gives tokens to everybody who uses it: without a subject, or a condition on the subject, all of them are accepted`
}
