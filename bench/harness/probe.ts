// Preloaded into every server that is measured. Reports to its parent how much CPU time the process, with all its
// threads, has used, in microseconds (/proc would show it in steps of 10 ms). Also reports the longest time that its
// main thread worked without a turn of the event loop since the last report, in CPU time, which other processes on the
// machine do not affect.
let longest = 0
let before = 0
let turning = false

function turn(): void {
  const { user, system } = process.threadCpuUsage()
  longest = Math.max(longest, user + system - before)
  before = user + system
  if (turning) setImmediate(turn)
}

process.on('message', (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu: user + system })
  } else if (message === 'hold' || message === 'held') {
    if (message === 'held') process.send?.({ held: longest / 1_000 })
    else process.send?.({ hold: 0 })
    turning = message === 'hold'
    longest = 0
    before = process.threadCpuUsage().user + process.threadCpuUsage().system
    if (turning) setImmediate(turn)
  }
})
// A server must not outlive the process that measures it, however that ends.
process.on('disconnect', () => process.exit())
process.channel?.unref()
