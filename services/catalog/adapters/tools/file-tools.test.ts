import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type CatalogFixture, openCatalog, runTool, writeFiles } from '#test/support/catalog.ts'

function toolTest(title: string, body: (catalog: CatalogFixture) => Promise<void>): void {
  test(title, async () => {
    await using catalog = await openCatalog()
    await body(catalog)
  })
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

toolTest('read numbers lines, and offset and limit choose them', async (catalog) => {
  await writeFiles(catalog.project, { 'a.txt': 'one\ntwo\r\n\nfour', empty: '' })
  assert.equal((await runTool(catalog, 'read', { path: 'a.txt' })).text, '1: one\n2: two\n3: \n4: four')
  const part = await runTool(catalog, 'read', { path: 'a.txt', offset: 2, limit: 1 })
  assert.equal(part.text, '2: two\n\n(more lines follow; read on with offset 3)')
  assert.deepEqual(part.metadata, { path: 'a.txt', lines: 1, truncated: true })
  const rest = await runTool(catalog, 'read', { path: 'a.txt', offset: 4, limit: 1 })
  assert.deepEqual([rest.text, rest.metadata.truncated], ['4: four', false])
  assert.equal((await runTool(catalog, 'read', { path: 'empty' })).text, '(the file is empty)')
  assert.equal((await runTool(catalog, 'read', { path: 'a.txt', offset: 5 })).failure?.type, 'out_of_range')
})

toolTest('read answers at most 2,000 lines and 50 KiB, and cuts long lines, in files of any size', async (catalog) => {
  const wide = `${'ä'.repeat(5000)}\nsecond\n`
  await writeFiles(catalog.project, { many: 'x\n'.repeat(3000), wide, heavy: `${'x'.repeat(1023)}\n`.repeat(100) })
  const many = await runTool(catalog, 'read', { path: 'many' })
  assert.ok(many.text.endsWith('2000: x\n\n(more lines follow; read on with offset 2001)'))
  const lines = (await runTool(catalog, 'read', { path: 'wide' })).text.split('\n')
  assert.equal(lines[0], `1: ${'ä'.repeat(4096)}… [line of 10000 bytes]`)
  assert.equal(lines[1], '2: second')
  const heavy = await runTool(catalog, 'read', { path: 'heavy' })
  assert.ok(heavy.text.endsWith('read on with offset 51)'))
  await writeFile(join(catalog.project, 'sparse'), 'text\n')
  await truncate(join(catalog.project, 'sparse'), 2 ** 40)
  assert.equal((await runTool(catalog, 'read', { path: 'sparse' })).failure?.type, 'binary_file')
})

toolTest('read shows images and refuses other binary files, directories and special files', async (catalog) => {
  await writeFile(join(catalog.project, 'i.txt'), PNG)
  await writeFile(join(catalog.project, 'b.txt'), Buffer.from([1, 0, 2]))
  await writeFile(join(catalog.project, 'large'), PNG)
  await truncate(join(catalog.project, 'large'), (20 << 20) + 1)
  execFileSync('mkfifo', [join(catalog.project, 'pipe')])
  const image = await runTool(catalog, 'read', { path: 'i.txt' })
  assert.deepEqual(
    image.files.map(({ mime, name, data }) => [mime, name, Buffer.from(data).equals(PNG)]),
    [['image/png', 'i.txt', true]],
  )
  const failures = {
    'b.txt': 'binary_file',
    large: 'too_large',
    '.': 'is_directory',
    none: 'not_found',
    pipe: 'not_a_file',
  }
  for (const [path, type] of Object.entries({ ...failures, 'b.txt/x': 'not_a_directory' })) {
    assert.equal((await runTool(catalog, 'read', { path })).failure?.type, type, path)
  }
})

toolTest('list sorts names, marks directories and links, and says when there are more', async (catalog) => {
  await writeFiles(catalog.project, { b: '', 'a/x': '', '.hidden': '' })
  await symlink('b', join(catalog.project, 'link'))
  assert.equal((await runTool(catalog, 'list', {})).text, '.hidden\na/\nb\nlink@')
  await mkdir(join(catalog.project, 'none'))
  assert.equal((await runTool(catalog, 'list', { path: 'none' })).text, '(the directory is empty)')
  assert.equal((await runTool(catalog, 'list', { path: 'b' })).failure?.type, 'not_a_directory')
  assert.equal((await runTool(catalog, 'list', { path: 'nowhere' })).failure?.type, 'not_found')
  const names = Array.from({ length: 2001 }, (_, index) => `n${String(index).padStart(4, '0')}`)
  await writeFiles(catalog.project, Object.fromEntries(names.map((name) => [`many/${name}`, ''])))
  const many = await runTool(catalog, 'list', { path: 'many' })
  assert.ok(many.text.endsWith('n1999\n\n(2001 names; only the first are shown)'))
})

toolTest('glob and grep skip .git, node_modules, links and what .gitignore excludes', async (catalog) => {
  await writeFiles(catalog.project, {
    '.gitignore': '*.log\ndist/\n',
    '.git/a.ts': 'match',
    'node_modules/a.ts': 'match',
    'dist/a.ts': 'match',
    'a.log': 'match',
    'src/.gitignore': '!keep.log\n/gone.ts\n',
    'src/keep.log': 'match',
    'src/gone.ts': 'match',
    'src/deep/gone.ts': 'a match',
    'src/.hidden.ts': 'no',
    'b.ts': 'match\r\nno\nmatch',
    binary: 'match\0',
    '.env': 'match',
    'x/prod.env.local': 'match',
    'x/.env.example': 'match',
  })
  await symlink('src', join(catalog.project, 'link'))
  const found = await runTool(catalog, 'glob', { pattern: './**/*.{ts,log}' })
  assert.equal(found.text, 'b.ts\nsrc/.hidden.ts\nsrc/deep/gone.ts\nsrc/keep.log')
  const inner = await runTool(catalog, 'glob', { pattern: '*.ts', path: 'src' })
  assert.equal(inner.text, 'src/.hidden.ts', 'rules from above hold below')
  const lines = await runTool(catalog, 'grep', { pattern: '^MATCH$', ignore_case: true })
  assert.equal(lines.text, 'b.ts:1: match\nb.ts:3: match\nsrc/keep.log:1: match\nx/.env.example:1: match')
  assert.equal((await runTool(catalog, 'grep', { pattern: 'match', include: '*.log' })).text, 'src/keep.log:1: match')
  assert.equal(
    (await runTool(catalog, 'grep', { pattern: 'a', path: 'src', include: 'deep/*' })).text,
    'src/deep/gone.ts:1: a match',
  )
  assert.equal((await runTool(catalog, 'grep', { pattern: 'match', path: '.env' })).text, '.env:1: match')
  assert.equal((await runTool(catalog, 'glob', { pattern: '*.none' })).text, '(no file matches)')
  assert.equal((await runTool(catalog, 'glob', { pattern: '*', path: 'nowhere' })).failure?.type, 'not_found')
  assert.equal((await runTool(catalog, 'grep', { pattern: 'a', path: 'nowhere' })).failure?.type, 'not_found')
})

toolTest(
  'glob answers at most 500 paths, grep 200 lines of 500 characters, in files of up to 2 MiB',
  async (catalog) => {
    const files = Object.fromEntries(
      Array.from({ length: 501 }, (_, index) => [`f/${String(index).padStart(3, '0')}`, '']),
    )
    await writeFiles(catalog.project, {
      ...files,
      lines: 'match\n'.repeat(201),
      wide: `match${'x'.repeat(1000)}`,
      large: `match\n${' '.repeat(2 << 20)}`,
    })
    const glob = await runTool(catalog, 'glob', { pattern: 'f/*' })
    assert.ok(glob.text.endsWith('f/499\n\n(more files match; only the first are shown: use a narrower pattern)'))
    assert.deepEqual(glob.metadata, { count: 500, truncated: true })
    const grep = await runTool(catalog, 'grep', { pattern: 'match', include: 'lines' })
    assert.match(grep.text, /lines:200: match\n\n\(more lines match; .*\)$/)
    assert.deepEqual(grep.metadata, { count: 200, truncated: true })
    const wide = await runTool(catalog, 'grep', { pattern: 'match', include: 'wide' })
    assert.equal(wide.text, `wide:1: match${'x'.repeat(495)}…`)
    const large = await runTool(catalog, 'grep', { pattern: 'match', include: 'large' })
    assert.equal(large.text, '(no line matches)\n\n(not searched: a file of more than 2 MiB)')
    assert.deepEqual(large.metadata, { count: 0, truncated: true })
  },
)

toolTest('a search with an endless pattern blocks nobody, and ends with its caller', async (catalog) => {
  await writeFiles(catalog.project, { evil: `${'a'.repeat(50)}!` })
  const controller = new AbortController()
  const search = runTool(catalog, 'grep', { pattern: '^(a+)+$' }, { signal: controller.signal })
  assert.equal((await runTool(catalog, 'list', {})).text, 'evil', 'meanwhile others are served')
  controller.abort()
  await assert.rejects(search)
})

toolTest('write makes directories, replaces files whole, and keeps their mode', async (catalog) => {
  const path = join(catalog.project, 'new/deep/a.sh')
  const created = await runTool(catalog, 'write', { path: 'new/deep/a.sh', content: 'ä\n' })
  assert.equal(created.text, 'Created new/deep/a.sh (3 bytes)')
  assert.deepEqual(created.metadata, { path: 'new/deep/a.sh', created: true, bytes: 3 })
  await chmod(path, 0o751)
  assert.equal((await runTool(catalog, 'write', { path, content: 'b' })).text, 'Replaced new/deep/a.sh (1 byte)')
  assert.equal(await readFile(path, 'utf8'), 'b')
  assert.equal((await stat(path)).mode & 0o777, 0o751)
  assert.deepEqual(await readdir(join(catalog.project, 'new/deep')), ['a.sh'], 'nothing else is left behind')
})

toolTest('write through a link within the location changes what it leads to', async (catalog) => {
  await writeFiles(catalog.project, { real: 'old' })
  await symlink('real', join(catalog.project, 'link'))
  await runTool(catalog, 'write', { path: 'link', content: 'new' })
  assert.equal(await readFile(join(catalog.project, 'real'), 'utf8'), 'new')
})

toolTest('write refuses directories, special files, and paths that cannot be created', async (catalog) => {
  await writeFiles(catalog.project, { file: '', 'dir/x': '' })
  execFileSync('mkfifo', [join(catalog.project, 'pipe')])
  const failures = { '.': 'is_directory', dir: 'is_directory', 'file/x': 'not_a_directory', pipe: 'not_a_file' }
  for (const [path, type] of Object.entries({ ...failures, ['x'.repeat(256)]: 'io' })) {
    assert.equal((await runTool(catalog, 'write', { path, content: 'x' })).failure?.type, type, path)
  }
  assert.deepEqual((await readdir(catalog.project)).sort(), ['dir', 'file', 'pipe'])
})

toolTest('edit replaces a passage, once or everywhere, and says what is wrong otherwise', async (catalog) => {
  await writeFiles(catalog.project, { a: 'one two two', large: 'x'.repeat((5 << 20) + 1), 'dir/x': '' })
  await writeFile(join(catalog.project, 'binary'), Buffer.from([1, 0]))
  const edit = (path: string, old_string: string, rest: object = {}) =>
    runTool(catalog, 'edit', { path, old_string, new_string: '$1', ...rest })
  assert.equal((await edit('a', 'one')).text, 'Edited a: replaced once')
  const failures = [
    ['a', 'three', 'no_match', 'old_string is not in a'],
    ['a', 'two', 'ambiguous_match', 'old_string is in a 2 times: make it unique, or set replace_all'],
    ['none', 'x', 'not_found', 'none does not exist'],
    ['dir', 'x', 'is_directory', 'dir is a directory'],
    ['binary', 'x', 'binary_file', 'binary is not a text file'],
    ['large', 'x', 'too_large', 'large: it has more than 5242880 bytes'],
  ] as const
  for (const [path, text, type, message] of failures) {
    assert.deepEqual((await edit(path, text)).failure, { type, message })
  }
  assert.equal((await edit('a', 'two', { replace_all: true })).text, 'Edited a: replaced 2 times')
  assert.equal(await readFile(join(catalog.project, 'a'), 'utf8'), '$1 $1 $1')
})

toolTest('concurrent edits of one file all count', async (catalog) => {
  const words = Array.from({ length: 20 }, (_, index) => `<${index}>`)
  await writeFiles(catalog.project, { a: words.join(' ') })
  const edits = words.map((word) => runTool(catalog, 'edit', { path: 'a', old_string: word, new_string: 'x' }))
  for (const { failure } of await Promise.all(edits)) assert.equal(failure, undefined)
  assert.equal(await readFile(join(catalog.project, 'a'), 'utf8'), words.map(() => 'x').join(' '))
})
