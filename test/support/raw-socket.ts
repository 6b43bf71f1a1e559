import { connect } from 'node:net'

/** What a server sent on a connection until it closed it. */
export interface WireAnswer {
  /** 0 when nothing was sent. */
  readonly status: number
  readonly head: string
  readonly body: string
}

/**
 * Sends bytes (Latin-1) on a connection of their own and reads until the server closes it; `end` closes our side first.
 * HTTP libraries would not let a test send what is no HTTP.
 */
export function sendBytes(url: string, bytes: string, options: { readonly end?: boolean } = {}): Promise<WireAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname)
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const border = text.indexOf('\r\n\r\n')
      const [head, body] = border < 0 ? [text, ''] : [text.slice(0, border), text.slice(border + 4)]
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), head, body })
    })
    socket.write(bytes, 'latin1')
    if (options.end === true) socket.end()
  })
}
