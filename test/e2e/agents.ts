import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { type Script, type ScriptedStep, SECOND_PROMPT, startScriptedModel } from '#test/support/scripted-model.ts'

// `npm run e2e:agents`: coding agents, unchanged from npm, each edit a file with a tool over two turns, each in its own
// dialect, with a scripted model of either kind. They are installed into a folder of the system's, and reach only this
// machine.

const FIRST_PROMPT = 'Replace Hello by Goodbye in greeting.txt'
/** A start of an agent takes seconds on a busy machine. */
const TURN_MS = 900_000

/** A coding agent, and what a model has to call for it to edit a file. */
interface Agent {
  readonly name: string
  readonly spec: string
  /** Name of its program. */
  readonly program: string
  readonly script: (file: string) => Script
  readonly environment: (portico: Portico, model: string) => Record<string, string>
  readonly arguments: (portico: Portico, model: string, turn: 'first' | 'second', prompt: string) => readonly string[]
}

const claudeCode: Agent = {
  name: 'Claude Code',
  spec: '@anthropic-ai/claude-code@2.1.330',
  program: 'claude',
  script: (file_path) => [
    [
      [{ name: 'Read', input: { file_path } }],
      [{ name: 'Edit', input: { file_path, old_string: 'Hello', new_string: 'Goodbye' } }],
    ],
    [[{ name: 'Edit', input: { file_path, old_string: 'Goodbye', new_string: 'Farewell' } }]],
  ],
  environment: ({ url }, model) => ({
    ANTHROPIC_BASE_URL: `${url}/api`,
    ANTHROPIC_API_KEY: PORTICO_KEYS.api,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  arguments: (_portico, _model, turn, prompt) => [
    ...['-p', ...(turn === 'second' ? ['--continue'] : []), prompt],
    ...['--permission-mode', 'acceptEdits'],
  ],
}

/** Codex offers its free-form tool to the models that it knows, and a command line to others. */
const replace = (from: string, to: string): ScriptedStep => [
  { name: 'apply_patch', input: `*** Begin Patch\n*** Update File: greeting.txt\n@@\n-${from}\n+${to}\n*** End Patch` },
  { name: 'exec_command', input: { cmd: `sed -i s/${from}/${to}/ greeting.txt` } },
  { name: 'shell_command', input: { command: `sed -i s/${from}/${to}/ greeting.txt` } },
]

const codex: Agent = {
  name: 'Codex',
  spec: '@openai/codex@0.169.0',
  program: 'codex',
  script: () => [[replace('Hello', 'Goodbye')], [replace('Goodbye', 'Farewell')]],
  environment: () => ({ PORTICO_KEY: PORTICO_KEYS.api }),
  arguments: ({ url }, model, turn, prompt) => [
    ...['exec', ...(turn === 'second' ? ['resume', '--last'] : [])],
    ...[
      '-c',
      `model_providers.portico={name="portico",base_url="${url}/v1",env_key="PORTICO_KEY",wire_api="responses"}`,
    ],
    ...['-c', 'model_provider=portico', '-m', model],
    ...['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  ],
}

/** Fetches an agent unless it is there, and returns its program. */
async function fetchAgent({ spec, program }: Agent): Promise<string> {
  const directory = join(tmpdir(), 'portico-agents', spec.replace(/[@/]/g, '_'))
  await mkdir(directory, { recursive: true })
  const found = await findProgram(directory, program)
  if (found !== undefined) return found
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', directory]
  await promisify(execFile)('npm', ['install', ...options, spec])
  return (await findProgram(directory, program)) ?? assert.fail(`${spec} has no program for this machine`)
}

/** The native program: the largest file of that name. */
async function findProgram(directory: string, program: string): Promise<string | undefined> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  const native = files.find(({ name, parentPath }) => {
    return name === program && parentPath.includes(`${process.platform}-`) && !parentPath.includes('.bin')
  })
  const vendored = files.find(({ name, parentPath }) => name === program && parentPath.includes('vendor'))
  const file = vendored ?? native
  return file?.isFile() ? join(file.parentPath, file.name) : undefined
}

async function runTurn(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<void> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), TURN_MS)
  const status = await new Promise((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  assert.equal(status, 0, said.slice(-4_000))
}

async function edits(agent: Agent, program: string, model: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-agent-'))
  const [home, work] = [join(directory, 'home'), join(directory, 'work')]
  for (const folder of [home, work]) await mkdir(folder)
  const file = join(work, 'greeting.txt')
  await writeFile(file, 'Hello\n')
  await using upstream = await startScriptedModel(agent.script(file))
  await using portico = await openPortico({
    ANTHROPIC_API_KEY: 'sk-ant',
    ANTHROPIC_BASE_URL: upstream.url,

    OPENAI_API_KEY: 'sk-up',
    OPENAI_BASE_URL: `${upstream.url}/v1`,
  })
  const own = { PATH: process.env.PATH ?? '', HOME: home, CODEX_HOME: home }
  // Only this machine can be reached.
  const alone = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' }
  const env = { ...own, ...alone, ...agent.environment(portico, model) }
  for (const [turn, prompt, text] of [
    ['first', FIRST_PROMPT, 'Goodbye\n'],
    ['second', SECOND_PROMPT, 'Farewell\n'],
  ] as const) {
    await runTurn(program, agent.arguments(portico, model, turn, prompt), work, env)
    assert.equal(await readFile(file, 'utf8'), text, `${agent.name}, ${model}, ${turn} turn`)
  }
  await rm(directory, { recursive: true, force: true })
}

for (const agent of [claudeCode, codex]) {
  const program = await fetchAgent(agent)
  for (const model of ['anthropic/claude-sonnet-5-5', 'openai/gpt-5.5']) {
    await edits(agent, program, model)
    process.stdout.write(`${agent.name} edited a file over two turns with ${model}\n`)
  }
}
