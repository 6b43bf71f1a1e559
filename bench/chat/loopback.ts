// Preloaded into Portkey's gateway, which would listen on all interfaces and does not print its port: with this module
// it listens only on 127.0.0.1, and prints its URL.
import { type AddressInfo, Server } from 'node:net'

const listen = Server.prototype.listen
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  const onListening = args.find((each): each is () => void => typeof each === 'function')
  return listen.call(this, { port: Number(args[0]), host: '127.0.0.1' }, () => {
    process.stdout.write(`http://127.0.0.1:${(this.address() as AddressInfo).port}\n`)
    onListening?.()
  })
}
