import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_BYTES, MAX_LINES, OutputWindow, truncateLines } from './truncate.ts'

test('lines that fit are kept as they are', () => {
  assert.deepEqual(truncateLines(['a', 'b'], 'more'), { text: 'a\nb', truncated: false })
  assert.deepEqual(truncateLines(['a'], 'more', true), { text: 'a\n\nmore', truncated: true })
  assert.deepEqual(truncateLines([], 'more'), { text: '', truncated: false })
})

test('at most 2,000 lines and 50 KiB are kept, with a note', () => {
  const many = truncateLines(Array<string>(MAX_LINES + 1).fill('x'), 'more')
  assert.deepEqual(many, { text: `${'x\n'.repeat(MAX_LINES)}\nmore`, truncated: true })
  const wide = truncateLines(Array<string>(100).fill('ä'.repeat(500)), 'more')
  assert.equal(wide.text.split('\n').length, Math.floor(MAX_BYTES / 1001) + 2)
  assert.ok(wide.truncated)
})

test('output that fits is kept as it is', () => {
  const output = new OutputWindow()
  for (const part of ['one\n', 'two\n']) output.push(Buffer.from(part))
  assert.deepEqual(output.text(), { text: 'one\ntwo\n', truncated: false })
  assert.equal(output.total, 8)
  assert.equal(output.tail(4), 'two\n')
})

test('longer output keeps its beginning and its end, and no more is held in memory', () => {
  const output = new OutputWindow(20)
  output.push(Buffer.from('beginning!'))
  for (let i = 0; i < 1000; i++) output.push(Buffer.from(`middle ${i} `))
  output.push(Buffer.from('the end...'))
  const { text, truncated } = output.text()
  assert.match(text, /^beginning!\n\n… \d+ bytes left out; .*…\n\nthe end\.\.\.$/)
  assert.ok(truncated)
})

test('keeps beginning and end of one chunk that is larger than the window', () => {
  const output = new OutputWindow(20)
  output.push(Buffer.from(`beginning!${'x'.repeat(1000)}the end...`))
  assert.match(output.text().text, /^beginning!\n\n… 1000 bytes left out; .*…\n\nthe end\.\.\.$/)
})

test('output is never cut within a character', () => {
  for (let offset = 0; offset < 4; offset++) {
    const output = new OutputWindow(20)
    output.push(Buffer.from(`${'x'.repeat(offset)}${'😀'.repeat(100)}`))
    assert.doesNotMatch(output.text().text, /\uFFFD/)
    assert.doesNotMatch(output.tail(7), /\uFFFD/)
  }
})

test('output of more than 2,000 lines keeps the first and last 1,000', () => {
  const output = new OutputWindow()
  output.push(Buffer.from('x\n'.repeat(MAX_LINES + 10)))
  const { text, truncated } = output.text()
  assert.ok(truncated)
  assert.match(text, /… 11 lines left out …/)
  assert.ok(text.split('\n').length <= MAX_LINES + 3)
})
