import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedIssuerWarning } from './shared-issuer.ts'

test('a policy on a shared issuer causes a warning unless its subject is pinned', () => {
  for (const url of [
    'https://token.actions.githubusercontent.com',
    'https://gitlab.com',
    'https://gitlab.com/',
    'https://accounts.google.com',
  ]) {
    assert.match(sharedIssuerWarning(url, () => false) ?? '', /issues tokens to all of its users/)
    assert.equal(
      sharedIssuerWarning(url, () => true),
      undefined,
    )
  }
})

test('an issuer of one organization is not shared, even at the host of a shared one', () => {
  for (const url of [
    'https://token.actions.githubusercontent.com/octo-enterprise',
    'https://gitlab.example.com',
    'https://container.googleapis.com/v1/projects/p/locations/l/clusters/c',
    'https://oidc.vercel.com/a-team',
  ]) {
    assert.equal(
      sharedIssuerWarning(url, () => false),
      undefined,
    )
  }
})

test('a prefix of a subject pins it once it contains the whole name of an owner', () => {
  for (const [url, beginning, names] of [
    ['https://token.actions.githubusercontent.com', 'repo:', false],
    ['https://token.actions.githubusercontent.com', 'repo:acme', false],
    ['https://token.actions.githubusercontent.com', 'repo:acme/', true],
    ['https://token.actions.githubusercontent.com', 'repo:acme@123/app@', true],
    ['https://token.actions.githubusercontent.com', 'repository_owner_id:12:', true],
    ['https://token.actions.githubusercontent.com', 'environment:prod:', false],
    ['https://gitlab.com', 'project_path:acme/', true],
    ['https://gitlab.com', 'project_path:ac', false],
    ['https://agent.buildkite.com', 'organization:acme:', true],
    ['https://accounts.google.com', '1234', false],
  ] as const) {
    assert.equal(sharedIssuerWarning(url, (isNamed) => isNamed(beginning)) === undefined, names, `${url} ${beginning}`)
  }
})
