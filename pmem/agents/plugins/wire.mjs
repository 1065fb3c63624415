// The way from a plug-in to pmem's session, for agents that run JavaScript.
//
// One object goes out over the unix socket named by PMEM_SOCK, one comes back, or nothing. On any
// trouble, and after half a second (PMEM_WAIT or PMEM_PATIENCE seconds, if set), the answer is null:
// a plug-in never fails its agent.
import net from "node:net"

const { PMEM_WAIT, PMEM_PATIENCE } = process.env
const LIMIT = 1000 * (Number(PMEM_WAIT) || Number(PMEM_PATIENCE) || 0.5) // milliseconds

export const reachable = () => Boolean(process.env.PMEM_SOCK && process.env.PMEM_TOKEN)

export function ask(agent, told, limit = LIMIT) {
  return new Promise((resolve) => {
    const parts = []
    let link
    let timer
    const end = (value) => {
      clearTimeout(timer)
      resolve(value)
      try {
        link?.()
      } catch {}
    }
    const answered = () => {
      try {
        end(parts.length ? JSON.parse(Buffer.concat(parts).toString("utf8")) : null)
      } catch {
        end(null)
      }
    }
    timer = setTimeout(() => end(null), limit)
    try {
      const head = `pmem1 ${process.env.PMEM_TOKEN} ${agent}\n`
      const request = Buffer.from(head + JSON.stringify(told))
      const heard = (part) => parts.push(Buffer.from(part))
      const over = { heard, answered, failed: () => end(null) }
      link = (globalThis.Bun ? withBun : withNode)(process.env.PMEM_SOCK, request, over)
    } catch {
      end(null)
    }
  })
}

function withNode(path, request, { heard, answered, failed }) {
  const link = net.createConnection({ path, allowHalfOpen: true })
  link.on("data", heard).on("end", answered).on("close", answered).on("error", failed)
  link.end(request)
  return () => link.destroy()
}

// Bun's node:net closes both ways where one was meant: the answer would be lost.
function withBun(path, request, { heard, answered, failed }) {
  let left = request
  const send = (link) => {
    left = left.subarray(Math.max(0, link.write(left)))
    link.flush()
    if (left.length === 0) link.shutdown()
  }
  const socket = { data: (_, part) => heard(part), end: answered, close: answered, error: failed }
  const opening = globalThis.Bun.connect({
    unix: path,
    allowHalfOpen: true,
    socket: { ...socket, open: send, drain: (link) => left.length && send(link), connectError: failed },
  })
  opening.catch(failed)
  return () => opening.then((link) => link.end()).catch(() => {})
}

// The end of a text in whole lines: half a line could hold half a secret.
export function lastLines(text, limit) {
  if (text.length <= limit) return text
  const end = text.slice(-limit)
  return end.slice(end.indexOf("\n") + 1)
}
