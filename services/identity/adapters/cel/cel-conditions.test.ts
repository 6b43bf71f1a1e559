import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition, ConditionClaims } from '#services/identity/ports/conditions.ts'
import { CelConditions } from './cel-conditions.ts'

const conditions = new CelConditions()
const claims: ConditionClaims = {
  subject: 'repo:acme/app:ref:refs/heads/main',
  audience: ['https://portico.test', 'other'],
  scopes: ['read', 'inference:write'],
  tokenType: 'jobs@acme.test',
}

function read(text: string): Condition {
  const condition = conditions.read(text)
  assert.ok(!('problem' in condition), 'problem' in condition ? `${text}: ${condition.problem}` : '')
  return condition
}

function problemOf(text: string): string {
  const condition = conditions.read(text)
  return 'problem' in condition ? condition.problem : 'none'
}

test('ordinary conditions are accepted and evaluated', () => {
  for (const [text, expected] of [
    ['subject.startsWith("repo:acme/")', true],
    ['subject.startsWith("repo:other/")', false],
    ['"read" in scopes && audience.size() == 2', true],
    ['token_type == "jobs" || token_type.endsWith("@acme.test")', true],
    ['scopes.exists(s, s.startsWith("inference:"))', true],
    ['scopes.all(s, s.contains("r") && size(s) < 16)', true],
    ['scopes.exists_one(s, s == "read") && !("admin" in scopes)', true],
    ['scopes.filter(s, s != "read") == ["inference:write"]', true],
    ['"read!" in scopes.map(s, s + "!")', true],
    ['["repo:acme/a", "repo:acme/b"].exists(p, subject.startsWith(p + ":"))', false],
    ['audience[0] == "https://portico.test" && audience[1] != "x"', true],
    ['(size(scopes) * 2 + 1 - 3 >= 2) == true ? subject != "" : false', true],
    ['// only the main branch\nsubject.endsWith(":refs/heads/main")', true],
    ['"\\u00e9" == "é" && \'\'\'a\'\'\' == r"a" && size("\u{1f600}") == 1', true],
  ] as const) {
    assert.equal(read(text).evaluate(claims), expected, text)
  }
})

test('a condition that fails gives an error and not a yes, unless the rest of it decides', () => {
  const { stackTraceLimit } = Error
  assert.equal(read('scopes[5] == "read"').evaluate(claims), 'error')
  assert.equal(read('!(scopes[5] == "read")').evaluate(claims), 'error')
  assert.equal(read('scopes.all(s, scopes[2] != s)').evaluate(claims), 'error')
  assert.equal(read('scopes[5] == "read" || true').evaluate(claims), true)
  assert.equal(read('scopes[5] == "read" && false').evaluate(claims), false)
  assert.equal(Error.stackTraceLimit, stackTraceLimit, 'errors of others keep their stacks')
})

test('a condition reports whether it reads scopes and token_type', () => {
  const used = (text: string) => {
    const { usesScopes, usesTokenType } = read(text)
    return [usesScopes, usesTokenType]
  }
  assert.deepEqual(used('"a" in audience'), [false, false])
  assert.deepEqual(used('true || "x" in scopes'), [true, false])
  assert.deepEqual(used('scopes.map(s, s + token_type) == [subject]'), [true, true])
})

test('a condition pins the subject if it is true only for subjects that it names', () => {
  const names = (beginning: string) => /^repo:[^/]+\//.test(beginning)
  for (const text of [
    'subject == "repo:acme/app"',
    '"repo:acme/app" == subject && "a" in scopes',
    'subject in ["x", "y"]',
    'subject.startsWith("repo:acme/")',
    'subject.startsWith("repo:" + "acme/")',
    'subject == "x" || subject.startsWith("repo:acme/") && subject.endsWith(":main")',
    '["acme", "emca"].exists(o, subject.startsWith("repo:" + o + "/"))',
    '["x", "y"].exists(s, subject == s)',
    'size(scopes) > 0 ? subject == "x" : subject == "y"',
    'subject == "x" ? "a" in scopes : subject == "y"',
  ]) {
    assert.equal(read(text).pinsSubject(names), true, text)
  }
  for (const text of [
    'true',
    '"a" in audience',
    'subject != ""',
    '!(subject == "x")',
    'subject == "x" || true',
    'subject == "x" || "a" in scopes',
    'size(scopes) > 0 ? subject == "x" : true',
    'subject.startsWith("repo:")',
    'subject.startsWith("repo:acme")',
    'subject.startsWith("")',
    'subject.endsWith(":main") && subject.contains("repo:acme/")',
    '["acme/", ""].exists(o, subject.startsWith("repo:" + o))',
    '["x", "y"].all(s, subject != s)',
    'scopes.exists(s, subject == s)',
    'subject == token_type',
    'subject in scopes',
    'size(subject) > 3',
  ]) {
    assert.equal(read(text).pinsSubject(names), false, text)
  }
})

test('a misspelt name gets a suggestion', () => {
  for (const [text, problem] of [
    ['subjekt == "a"', 'is not valid: Unknown variable: subjekt (line 1, character 1) (did you mean subject?)'],
    ['"a" in scope', 'is not valid: Unknown variable: scope (line 1, character 8) (did you mean scopes?)'],
    ['tokenType == "a"', 'is not valid: Unknown variable: tokenType (line 1, character 1) (did you mean token_type?)'],
    ['email == "a"', 'is not valid: Unknown variable: email (line 1, character 1); the variables are'],
    ['subject.startWith("a")', 'must not use startWith() (did you mean startsWith?) (line 1, character 8)'],
    ['subject.startswith("a")', 'must not use startswith() (did you mean startsWith?) (line 1, character 8)'],
    ['scopes.exits(s, s == "a")', 'must not use exits() (did you mean exists?) (line 1, character 7)'],
    ['scopes.any(s, s == "a")', 'must not use any() (line 1, character 7)'],
    ['length(subject) == 1', 'must not use length() (line 1, character 1)'],
  ] as const) {
    assert.ok(problemOf(text).startsWith(problem), `${text}: ${problemOf(text)}`)
  }
})

test('a condition that uses anything not on the list is refused when it is saved, with the position', () => {
  for (const [text, problem] of [
    ['subject.matches("^(a+)+$")', 'must not use matches() (line 1, character 8)'],
    ['subject == "a" &&\n  dyn(subject).matches("a")', 'must not use matches() (line 2, character 15)'],
    ['"a,b".split(",") == ["a"]', 'must not use split() (line 1, character 6)'],
    ['cel.bind(x, subject, x == "a")', 'must not use bind() (line 1, character 4)'],
    ['dyn(subject) == "a"', 'must not use dyn() (line 1, character 1)'],
    ['string(1) == subject', 'must not use string() (line 1, character 1)'],
    ['type(subject) == string', 'must not use type() (line 1, character 1)'],
    ['timestamp("2026-01-01T00:00:00Z").getHours() == 1', 'must not use getHours() (line 1, character 34)'],
    ['duration("1s") == duration("1s")', 'must not use duration() (line 1, character 1)'],
    ['subject.size(1) == 1', 'is not valid: found no matching overload'],
    ['has(subject.x)', 'must not use has() (line 1, character 1)'],
    ['1.5 > 1.0', 'must have no literals but strings, integers, true and false (line 1, character 1)'],
    ['1u == 1u', 'must have no literals but strings, integers, true and false (line 1, character 1)'],
    ['null == null', 'must have no literals but strings, integers, true and false (line 1, character 1)'],
    ['b"a" == b"a"', 'must have no literals but strings, integers, true and false (line 1, character 1)'],
    ['{"a": 1}.size() == 1', 'is not valid: Exceeded maxMapEntries'],
    ['{}.size() == 0', 'must not use maps (line 1, character 1)'],
    ['int == int', 'must not use int (line 1, character 1)'],
    ['[subject, []] == []', 'must not mix types in a list (line 1, character 1)'],
    [
      'scopes.exists(s, audience.exists(a, a == s))',
      'must not use exists() within another macro (line 1, character 18)',
    ],
    ['scopes.map(s, s).exists(s, s == "")', 'must not use exists() on what map() has made (line 1, character 1)'],
    ['[scopes.map(s, s)][0].exists(s, true)', 'must not use exists() on what map() has made (line 1, character 1)'],
    ['scopes.exists(subject, subject == "a")', 'must not name the variable of exists() after a claim'],
    ['[].all(e, true)', 'must not use all() on an empty list (line 1, character 1)'],
    ['[].all(e, e > 0)', 'cannot be read'],
    ['scopes + audience == scopes', 'must use + on integers only (line 1, character 1)'],
  ] as const) {
    assert.ok(problemOf(text).startsWith(problem), `${text}: ${problemOf(text)}`)
  }
})

test('a condition that implementations of CEL evaluate differently is refused when it is saved', () => {
  for (const [text, problem] of [
    ['"\u{1f600}" < "\uffff"', 'must use < on integers only'],
    ['true > false', 'must use > on integers only'],
    ['9223372036854775808 == 1', 'must not have an integer beyond 64 bits'],
    ['0xffffffffffffffff == 1', 'must not have an integer beyond 64 bits'],
    ['size(scopes) + 9223372036854775807 > 0', 'must not calculate beyond 64 bits'],
    ['size(scopes) == -1', 'must not use negation'],
    ['size(scopes) / 2 == 1', 'must not use division'],
    ['size(scopes) % 2 == 1', 'must not use remainders'],
    ['r"\\" == subject || r"\\" == token_type', 'is not valid'],
    ['r"a\\d" == subject', 'must not have a backslash in a raw string'],
    ['true == "a" in scopes', 'must not have a comparison on the right of another'],
    ['true ? false ? true : false : true', 'must not have a choice in the middle of another'],
  ] as const) {
    assert.ok(problemOf(text).startsWith(problem), `${text}: ${problemOf(text)}`)
  }
})

test('a condition that does not parse, is wrongly typed or is not a yes or no is refused', () => {
  for (const [text, problem] of [
    ['', 'is not valid: Unexpected token: EOF (line 1, character 1)'],
    ['subject ==', 'is not valid: Unexpected token: EOF (line 1, character 11)'],
    ['true @', 'is not valid: Unexpected character: @ (line 1, character 6)'],
    [
      'email == "a"',
      'is not valid: Unknown variable: email (line 1, character 1); the variables are subject, audience, scopes, token_type',
    ],
    ['subject', 'must be of type bool (true or false), not string'],
    ['size(subject)', 'must be of type bool (true or false), not int'],
    ['subject == 1', 'is not valid: no such overload: string == int'],
    ['"a" in subject', 'is not valid: no such overload: string in string'],
    ['scopes.all(s, s.foo == 1)', 'is not valid: '],
    ['audience[0].startsWith(1)', 'is not valid: found no matching overload'],
    ['"\u{1f600}" == "a" &&\n "é" == 1', 'is not valid: no such overload: string == int (line 2, character 2)'],
    ['('.repeat(1900), 'is not valid: Exceeded maxDepth'],
    ['!'.repeat(1990), 'is not valid: '],
    [`"${'a'.repeat(1999)}"`, 'must have at most 2000 characters'],
  ] as const) {
    assert.ok(problemOf(text).startsWith(problem), `${text.slice(0, 40)}: ${problemOf(text)}`)
  }
})

test('characters of a condition are those of Unicode', () => {
  read(`subject == "${'\u{1f600}'.repeat(1987)}"`)
  assert.equal(problemOf(`subject == "${'\u{1f600}'.repeat(1988)}"`), 'must have at most 2000 characters')
})

const many = (text: string, count: number, operator: string) => Array(count).fill(text).join(operator)

/** As many characters as a token has room for. */
const LONG: ConditionClaims = {
  subject: 'a'.repeat(512),
  audience: Array(64).fill('a'.repeat(90)),
  scopes: Array(16).fill('a'.repeat(90)),
  tokenType: 'a'.repeat(4_000),
}

test('ends an evaluation that uses more than 5 ms, which counts as an error', () => {
  for (const text of [
    `audience.exists(a, ${many('size(token_type)==1', 90, '||')})`,
    `audience.exists(a, size(${many('token_type', 100, '+')}) == 1)`,
    `audience.exists(a, ${many('scopes[16]==""', 100, '||')}) || true`,
    `scopes.all(s, ${many('scopes.size() > 0 && size(token_type + s) > 0', 40, '&&')}) == false`,
  ]) {
    const condition = read(text)
    const begun = process.threadCpuUsage()
    assert.equal(condition.evaluate(LONG), 'error', text.slice(0, 60))
    const { user, system } = process.threadCpuUsage(begun)
    assert.ok(user + system < 50_000, `${user + system} µs: ${text.slice(0, 60)}`)
    // What was ended leaves nothing behind.
    assert.notEqual(condition.evaluate({ ...claims, audience: ['a'] }), 'error')
  }
})

test('takes less than 50 ms for a condition of 250 characters on the largest claims', () => {
  for (const text of [
    `token_type.contains("${'a'.repeat(110)}b${'a'.repeat(110)}")`,
    many('token_type.contains(subject + "b")', 6, '||'),
    `(${many('token_type', 10, '+')}).contains(${many('token_type', 9, '+')} + "b")`,
    `scopes.map(s, ${many('token_type', 20, '+')}) == scopes`,
    many('scopes[19]==""', 15, '||'),
  ]) {
    assert.ok(text.length <= 250)
    const condition = read(text)
    const begun = process.threadCpuUsage()
    condition.evaluate(LONG)
    const { user, system } = process.threadCpuUsage(begun)
    assert.ok(user + system < 50_000, `${user + system} µs: ${text.slice(0, 60)}`)
  }
})

test('parsed conditions are kept, up to a number of characters', () => {
  const small = new CelConditions()
  const first = small.read('subject == "a"')
  assert.equal(small.read('subject == "a"'), first)
  for (let index = 0; index < 300; index += 1) small.read(`subject == "${'a'.repeat(1900)}${index}"`)
  assert.notEqual(small.read('subject == "a"'), first)
})
