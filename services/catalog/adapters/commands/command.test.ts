import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { longSleep, processesWith } from '#test/support/catalog.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'
import type { Command, CommandEnd, StartCommand } from './command.ts'
import { findSupervisor } from './find-supervisor.ts'
import { ReapedCommand, type Supervisor } from './reaped-command.ts'
import { SupervisedCommand } from './supervised-command.ts'

const PATH = process.env.PATH ?? '/usr/bin:/bin'
const perl = await findSupervisor(PATH)

const STARTERS: readonly (readonly [
  name: string,
  start: StartCommand | undefined,
  supervisor: Supervisor | undefined,
])[] = [
  ['perl', perl && ((options) => ReapedCommand.start(perl, options)), perl],
  [
    'a mark alone',
    process.platform === 'linux' ? (options) => SupervisedCommand.start(options, tmpdir()) : undefined,
    undefined,
  ],
]

/** Ways to survive, as commands that sleep for this long. */
const LEAVING: Readonly<Record<string, (tag: string) => string>> = {
  'in the background': (tag) => `sleep ${tag} & nohup sleep ${tag} >/dev/null 2>&1 & disown -a`,
  'in a session of its own': (tag) => `(setsid sh -c 'trap "" TERM HUP INT; sleep ${tag}; sleep ${tag}' &)`,
  stopped: (tag) => `sleep ${tag} & kill -STOP $!; setsid sh -c 'kill -STOP $$; sleep ${tag}' & sleep 0.2`,
}
/** Ways that only a reaper finds. */
const HIDING: Readonly<Record<string, (tag: string) => string>> = {
  'env -i setsid': (tag) => `env -i setsid sleep ${tag} >/dev/null 2>&1 & sleep 0.2`,
  'unset and setsid': (tag) => `unset CATALOG_TOOL_CALL; setsid sleep ${tag} >/dev/null 2>&1 & sleep 0.2`,
  'fork with an empty environment': (tag) => `(env -i sh -c 'setsid sh -c "exec sleep ${tag}" &' &) ; sleep 0.3`,
  'a daemon that forks twice and closes everything': (tag) =>
    `env -i /bin/sh -c '(setsid /bin/sh -c "(exec </dev/null >/dev/null 2>&1 3>&-; cd /; trap \\"\\" TERM HUP; sleep ${tag}; sleep ${tag}) &" &)'; sleep 0.3`,
  'many, each from the one before': (tag) =>
    `env -i setsid sh -c 'n=0; while [ $n -lt 60 ]; do n=$((n+1)); setsid sleep ${tag} & done; wait' >/dev/null 2>&1 & sleep 0.3`,
}

/** The last thing that a command does before the server is killed; it reports when it is done. */
const LAST_DEEDS: Readonly<Record<string, string>> = {
  '': 'echo up $outer $inner; sleep TAG',
  ' and the outer supervisor is stopped': 'kill -STOP $outer; echo up $outer $inner; sleep TAG',
  ' and the inner supervisor is stopped': 'kill -STOP $inner; echo up $outer $inner; sleep TAG',
  ' and both supervisors are stopped': 'kill -STOP $outer $inner; echo up $outer $inner; sleep TAG',
  ' and the outer supervisor is stopped, the inner one killed':
    'kill -STOP $outer; kill -9 $inner; echo up $outer $inner; sleep TAG',
  ' and the command that stopped a supervisor has ended': 'kill -STOP $outer; echo up $outer $inner',
}

for (const [name, start, supervisor] of STARTERS) {
  describe(`commands watched by ${name}`, { skip: start === undefined && 'there is none' }, () => {
    if (start !== undefined) suite(start, supervisor)
  })
}

function suite(start: StartCommand, supervisor: Supervisor | undefined): void {
  const reaped = supervisor !== undefined
  const ways = Object.entries({ ...LEAVING, ...(reaped ? HIDING : {}) })

  // Each waits for most of its time, and sees only its own processes.
  describe('what stays', { concurrency: true }, () => {
    for (const [way, command] of ways) {
      test(`ends ${way} when the command ends, and when it is disposed`, async () => {
        const tag = longSleep()
        const normal = await run(start, `${command(tag)}; echo over; exit 3`)
        assert.deepEqual([normal.text, normal.end], ['over\n', { code: 3, signal: null }])
        assert.deepEqual(await processesWith(tag), [])
        const cut = await begin(start, `${command(tag)}; echo up; sleep ${tag}`)
        await cut.printed('up')
        await cut.command[Symbol.asyncDispose]()
        assert.deepEqual(await processesWith(tag), [])
      })
    }
  })

  test('lets a command end in an orderly way before it is killed', async () => {
    const tidy = await begin(start, "trap 'echo tidy; exit' TERM; echo up; sleep 100 & wait")
    await tidy.printed('up')
    await tidy.command.terminate(600_000)
    await tidy.printed('tidy')
    await tidy.command[Symbol.asyncDispose]()
  })

  test('reports exit codes and signals, and ignores or blocks none', async () => {
    for (const code of [0, 1, 127, 255]) {
      assert.deepEqual((await run(start, `exit ${code}`)).end, { code, signal: null })
    }
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGPIPE', 'SIGFPE', 'SIGUSR1', 'SIGSEGV'] as const) {
      assert.deepEqual((await run(start, `kill -${signal.slice(3)} $$`)).end, { code: null, signal })
    }
    const { text } = await run(start, 'grep -E "^Sig(Blk|Ign)" /proc/self/status')
    assert.match(text, /^SigBlk:\s+0+\nSigIgn:\s+0+\n$/)
  })

  test('gives a command its own output, no other descriptor and no input', async () => {
    const { text } = await run(start, 'cat; ls /proc/self/fd')
    // Whoever runs the tests may have left inheritable descriptors open.
    const plain = spawnSync('/bin/bash', ['-c', 'cat; ls /proc/self/fd'], { stdio: ['ignore', 'pipe', 'ignore'] })
    assert.equal(text, plain.stdout.toString())
    const big = await run(start, `echo '${'x'.repeat(100_000)}' | wc -c; echo a | tee /dev/stderr`)
    assert.match(big.text, /^\s*100001\na\na\n$/)
  })

  test('keeps the words of the command out of the arguments of supervisors', async () => {
    const tag = longSleep()
    const { command, printed } = await begin(start, `: ${tag}; echo up; sleep 1000; :`)
    await printed('up')
    // Until it has become `sleep`, the process that the shell forks also has its command line.
    const one = async () => (await processesWith(tag)).length === 1
    await waitFor('the shell alone', one, () => processesWith(tag))
    await command[Symbol.asyncDispose]()
  })

  test('ends processes that wait for the end of others without letting them go on', async () => {
    using folder = scratchDirectory()
    const tag = longSleep()
    const waiting = `(setsid sleep ${tag}; : > ${folder.path}/on) &`
    const { command } = await begin(start, `n=0; while [ $n -lt 60 ]; do n=$((n+1)); ${waiting} done; echo up; wait`)
    await waitFor('all sleep', async () => (await processesWith(tag)).length >= 60)
    await command[Symbol.asyncDispose]()
    assert.deepEqual(await processesWith(tag), [])
    assert.deepEqual(readdirSync(folder.path), [])
  })

  test('leaves no process, no zombie and no descriptor when many commands run at once', async () => {
    await run(start, 'true')
    const [children, open] = [ownChildren(), descriptors()]
    await Promise.all(Array.from({ length: 8 }, () => run(start, '(sleep 0.05 &) ; (true &) ; echo a')))
    const more = () => ownChildren().filter((pid) => !children.includes(pid))
    // What an earlier test had open may be closed only now.
    const over = () => more().length === 0 && descriptors() <= open
    await waitFor('the end of all', over, () => ({ children: more(), descriptors: descriptors(), open }))
  })

  test('ends processes that are started faster than they are counted', async () => {
    const tag = longSleep()
    // Each of 6 starts another one 40 times in a row; at most 240 at a time.
    const bomb = `spawn() { n=0; while [ $n -lt 40 ]; do n=$((n+1)); (${reaped ? 'env -i setsid' : 'setsid'} sleep ${tag} &); done; }
      for i in 1 2 3 4 5 6; do spawn & done; echo up; wait`
    const cut = await begin(start, bomb)
    await cut.printed('up')
    await cut.command[Symbol.asyncDispose]()
    assert.deepEqual(await processesWith(tag), [])
  })

  test('refuses to start in a directory that does not exist', async () => {
    const options = { shell: '/bin/sh', command: 'true', directory: '/nowhere', environment: { PATH } }
    await assert.rejects(start(options), { name: 'ToolError', kind: 'not_started' })
  })

  if (reaped) supervisorSuite(start, supervisor)
}

function supervisorSuite(start: StartCommand, supervisor: Supervisor): void {
  const hide = HIDING['a daemon that forks twice and closes everything'] ?? assert.fail()
  // The parent of a command is the inner supervisor, whose parent is the outer one.
  const outer = `$(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$PPID/stat)`

  for (const [which, victims] of [
    ['inner', '$PPID'],
    ['outer', outer],
  ] as const) {
    test(`ends a command that kills its ${which} supervisor, with all that hides from it`, async () => {
      const tag = longSleep()
      const { command } = await begin(start, `${hide(tag)}; kill -9 ${victims}; sleep ${tag}`)
      await assert.rejects(command.ended, { kind: 'supervision_lost' })
      await command[Symbol.asyncDispose]()
      assert.deepEqual(await processesWith(tag), [])
    })
  }

  for (const [how, first] of [
    ['', ''],
    [', with the inner one stopped,', 'kill -STOP $PPID; '],
  ] as const) {
    test(`leaves nothing of a command that kills its outer supervisor${how} and ends at once`, async () => {
      const tag = longSleep()
      // Which of the two deaths is noticed first is random, so six do it at once.
      const deed = `${hide(tag)}; outer=${outer}; ${first}kill -9 $outer; exit 0`
      const begun = await Promise.all(Array.from({ length: 6 }, () => begin(start, deed)))
      await Promise.allSettled(begun.map(({ command }) => command.ended))
      await Promise.all(begun.map(({ command }) => command[Symbol.asyncDispose]()))
      assert.deepEqual(await processesWith(tag), [])
    })
  }

  test('ends a command that stops its supervisors when it is disposed', async () => {
    const tag = longSleep()
    const cut = await begin(start, `${hide(tag)}; echo up; kill -STOP ${outer} $PPID; sleep ${tag}`)
    await cut.printed('up')
    await cut.command[Symbol.asyncDispose]()
    assert.deepEqual(await processesWith(tag), [])
  })

  test('ignores signals that a shell may send to its parent', async () => {
    const { text } = await run(
      start,
      `for s in HUP INT QUIT TERM USR1 USR2 ALRM TSTP; do kill -$s $PPID ${outer}; done; echo on`,
    )
    assert.equal(text, 'on\n')
  })

  for (const [which, victims] of [
    ['inner', '$PPID'],
    ['outer', outer],
  ] as const) {
    test(`reports the end of a command that stops its ${which} supervisor`, async () => {
      const tag = longSleep()
      const begun = await begin(start, `${hide(tag)}; kill -STOP ${victims}; echo stopped; exit 3`)
      let end: CommandEnd | undefined
      void begun.command.ended.then((how) => {
        end = how
      })
      // It is not disposed, since that would also continue them.
      await waitFor('the end of the command', () => end !== undefined)
      assert.deepEqual(end, { code: 3, signal: null })
      await waitFor('the end of all', async () => (await processesWith(tag)).length === 0)
      assert.equal(begun.text(), 'stopped\n')
      await begun.command[Symbol.asyncDispose]()
    })
  }

  test('continues a stopped supervisor when the one above it is killed', async () => {
    const tag = longSleep()
    const { command } = await begin(start, `${hide(tag)}; o=${outer}; kill -STOP $PPID; kill -9 $o; sleep ${tag}`)
    await assert.rejects(command.ended, { kind: 'supervision_lost' })
    await waitFor('the end of all', async () => (await processesWith(tag)).length === 0)
    await command[Symbol.asyncDispose]()
  })

  describe('whose server is killed', { concurrency: true }, () => {
    for (const [title, last] of Object.entries(LAST_DEEDS)) {
      test(`ends everything that a command started when this process is killed${title}`, async () => {
        using folder = scratchDirectory()
        const tag = longSleep()
        const module = fileURLToPath(new URL('reaped-command.ts', import.meta.url))
        const script = join(folder.path, 'server.ts')
        writeFileSync(
          script,
          `import { ReapedCommand } from ${JSON.stringify(module)}
         const [command] = process.argv.slice(2)
         const options = { shell: '/bin/bash', command, directory: '/', environment: { PATH: process.env.PATH } }
         const started = await ReapedCommand.start(${JSON.stringify(supervisor)}, options)
         started.output.pipe(process.stdout)`,
        )
        const command = `${Object.values(HIDING)
          .map((way) => way(tag))
          .join('\n')}
          trap '' TERM HUP; outer=${outer}; inner=$PPID; ${last.replace('TAG', tag)}`
        const server = spawn(process.execPath, [script, command], { stdio: ['ignore', 'pipe', 'inherit'] })
        const exited = once(server, 'exit')
        const [output] = await once(server.stdout, 'data')
        const pids = /up (\d+) (\d+)/.exec(String(output))?.slice(1) ?? assert.fail(String(output))
        server.kill('SIGKILL')
        await exited
        await waitFor('the end of all', async () => (await processesWith(tag)).length === 0)
        await waitFor('the end of the supervisors', () => pids.every((pid) => !existsSync(`/proc/${pid}`)))
      })
    }
  })
}

interface Begun {
  readonly command: Command
  text(): string
  /** Resolves when the command has printed a text. */
  printed(text: string): Promise<void>
}

async function begin(start: StartCommand, command: string): Promise<Begun> {
  const options = { shell: '/bin/bash', command, directory: '/', environment: { PATH } }
  const started = await start(options)
  let text = ''
  started.output.on('data', (chunk: Buffer) => {
    text += chunk
  })
  const printed = (what: string) => waitFor(`${what} of the command`, () => text.includes(what))
  return { command: started, text: () => text, printed }
}

async function run(start: StartCommand, command: string): Promise<{ text: string; end: CommandEnd }> {
  const begun = await begin(start, command)
  try {
    const end = await begun.command.ended
    await begun.command[Symbol.asyncDispose]()
    return { text: begun.text(), end }
  } finally {
    await begun.command[Symbol.asyncDispose]()
  }
}

/** Children of this process, including zombies. */
function ownChildren(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === process.pid
      } catch {
        return false
      }
    })
    .map(Number)
}

function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}
