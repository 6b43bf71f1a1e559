// Preloaded into every test process: a connection to anything but this machine fails at once, with a message that
// `test/e2e` looks for.
import net from 'node:net'

const connect = net.Socket.prototype.connect

net.Socket.prototype.connect = function (this: net.Socket, ...words: unknown[]): net.Socket {
  const first = Array.isArray(words[0]) ? words[0][0] : words[0]
  const options = typeof first === 'object' && first !== null ? (first as { host?: string; path?: string }) : undefined
  const host = options?.host ?? (typeof first === 'number' && typeof words[1] === 'string' ? words[1] : undefined)
  const local = host === undefined || host === 'localhost' || host === '::1' || /^127\./.test(host)
  if (options?.path === undefined && !local) {
    // Printed, because the code that tried may swallow the error.
    process.stderr.write(`Tests may not connect to ${host}\n`)
    throw new Error(`Tests may not connect to ${host}`)
  }
  return Reflect.apply(connect, this, words) as net.Socket
} as typeof connect
