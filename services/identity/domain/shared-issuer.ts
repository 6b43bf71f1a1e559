/** What to do about a policy that admits all users of a shared issuer. */
export type SharedIssuers = 'warn' | 'refuse'

/** Matches no prefix: these subjects are ids without parts. */
const OPAQUE = /(?!)/

/**
 * Issuers that issue tokens to all users of a public service (those of an organization of its own have other
 * addresses), with the form that a prefix of subjects must have to identify one of these users: it extends to the
 * separator that ends the name, since others may have a longer one.
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
 * What is unwise about a policy for the tokens of an issuer: it would admit every user of a shared one. `isPinned`:
 * whether the policy only admits certain subjects, where `names` decides whether a prefix identifies certain subjects.
 * Undefined: nothing.
 */
export function sharedIssuerWarning(
  issuerUrl: string,
  isPinned: (names: (beginning: string) => boolean) => boolean,
): string | undefined {
  const certain = SHARED.get(issuerUrl.toLowerCase().replace(/\/$/, ''))
  if (certain === undefined || isPinned((beginning) => certain.test(beginning))) return undefined
  return (
    `${issuerUrl} issues tokens to all of its users, any of whom may be admitted unless the policy has a subject, ` +
    'or a condition that restricts the subject (with ==, in, or a startsWith that ends at the separator after the name)'
  )
}
