import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

/** A file of a tarball, or something that pretends to be one. */
export interface TarEntry {
  readonly path: string
  readonly content?: string | Buffer
  readonly type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link'
  readonly linkpath?: string
}

/** A version to be published; its files are in `package/` unless `entries` gives the whole content of the tarball. */
export interface Published {
  readonly name: string
  readonly version: string
  readonly manifest?: Readonly<Record<string, unknown>>
  readonly files?: Readonly<Record<string, string>>
  readonly entries?: readonly TarEntry[]
  /** The tag that it gets; default: `latest`. */
  readonly tag?: string
  /** Sent in place of the tarball that the integrity belongs to. */
  readonly sent?: Buffer
  /** The registry gives no integrity for it. */
  readonly unsigned?: boolean
}

/** A registry of npm packages on this machine, which serves what was published and records its requests. */
export async function startNpmRegistry() {
  const packages = new Map<string, { 'dist-tags': Record<string, string>; versions: Record<string, unknown> }>()
  const tarballs = new Map<string, Buffer>()
  const asked: string[] = []
  let held = Promise.resolve()
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    asked.push(path)
    const tarball = tarballs.get(path)
    if (tarball !== undefined) await held
    const found =
      tarball ??
      (packages.has(path.slice(1)) && JSON.stringify({ name: path.slice(1), ...packages.get(path.slice(1)) }))
    response.writeHead(found ? 200 : 404, { 'content-type': tarball ? 'application/octet-stream' : 'application/json' })
    response.end(found || '{"error":"not found"}')
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    /** The requested paths, in order. */
    asked,
    publish({ name, version, manifest = {}, files = {}, entries, tag = 'latest', sent, unsigned }: Published): void {
      const whole = { name, version, main: 'index.js', ...manifest }
      const own = {
        'package.json': JSON.stringify(whole),
        'index.js': `export default ${JSON.stringify(`${name} ${version}`)}`,
        ...files,
      }
      const tarball = tarballOf(
        entries ?? Object.entries(own).map(([file, content]) => ({ path: `package/${file}`, content })),
      )
      const path = `/${name}/-/${version}.tgz`
      tarballs.set(path, sent ?? tarball)
      // Like registries that stand in for another one: the address is not their own.
      const integrity = `sha512-${hash('sha512', tarball, 'base64')}`
      const dist = { tarball: `http://registry.invalid${path}`, ...(!unsigned && { integrity }) }
      const before = packages.get(name) ?? { 'dist-tags': {}, versions: {} }
      before['dist-tags'][tag] = version
      before.versions[version] = { ...whole, dist }
      packages.set(name, before)
    },
    /** Tarballs are sent only once this has resolved. */
    hold(until: Promise<void>): void {
      held = until
    },
    async stop(): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    restart: () => listen(port),
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A tarball with any entries, including those that no honest tool writes. */
export function tarballOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', type = 'File', linkpath = '' }) => {
    const data = Buffer.from(content)
    return [headerOf(path, type, linkpath, data.length), data, Buffer.alloc((512 - (data.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1_024)]))
}

const TYPES = { File: '0', Link: '1', SymbolicLink: '2', Directory: '5' }

/** A header of ustar, with a set-user-ID bit. */
function headerOf(path: string, type: keyof typeof TYPES, linkpath: string, size: number): Buffer {
  const header = Buffer.alloc(512)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(path, 0, 100)
  header.write(octal(0o4755, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(0, 12), 136)
  header.write('        ', 148)
  header.write(TYPES[type], 156)
  header.write(linkpath, 157, 100)
  header.write('ustar\x0000', 257)
  header.write(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    ),
    148,
  )
  return header
}
