import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PackageError, parsePackageSpecifier } from './package-specifier.ts'

test('a name may have a scope, and is followed by a version, a range or a tag', () => {
  const cases: readonly (readonly [target: string, name: string, wanted: string])[] = [
    ['acme', 'acme', 'latest'],
    ['acme@', 'acme', 'latest'],
    ['@acme/plug.in', '@acme/plug.in', 'latest'],
    ['acme@1.2.3-rc.1+build', 'acme', '1.2.3-rc.1+build'],
    ['@acme/plugin@>=1.2 <3 || ~4', '@acme/plugin', '>=1.2 <3 || ~4'],
    ['acme@next', 'acme', 'next'],
    ['acme@*', 'acme', '*'],
  ]
  for (const [target, name, wanted] of cases) {
    assert.deepEqual(parsePackageSpecifier(target), { target, name, wanted })
  }
})

test('a specifier that names no package of the registry is refused', () => {
  const refused = [
    ...[
      '',
      '@',
      'Acme',
      '.acme',
      '_acme',
      '../acme',
      './acme',
      '/srv/acme',
      '~/acme',
      'file:acme',
      'acme.tgz@file:x.tgz',
    ],
    ...[
      'git+https://host/a.git',
      'git@host:a/b.git',
      'https://host/a.tgz',
      'acme/plugin',
      'acme/plugin#main',
      'github:a/b',
    ],
    ...[
      'acme@git+ssh://host/a',
      'acme@https://host/a.tgz',
      'acme@npm:other@1',
      'acme@a/b',
      'acme@../b',
      'acme@file:..',
    ],
    ...['acme@1\0', 'acme@$(x)', `acme@${'1'.repeat(300)}`, '@acme/..', '@../acme', 'npm:acme', 'acme@workspace:*'],
  ]
  for (const target of refused) assert.throws(() => parsePackageSpecifier(target), PackageError, target)
})
