// pmem's plug-in for opencode. It tells each call before and after it ran, and says a reminder in
// the next request to the model alone: it stands in no transcript.
import { ask, lastLines, reachable } from "./wire.mjs"

const AGENT = "opencode"
const REFUSED = /user rejected permission|user dismissed|execution aborted/i
const SHOWN = 12_000 // milliseconds
const LONGEST = 1000 // steps of a resumed conversation
const EXCERPT = 4000 // characters of each

const words = (parts) =>
  parts.filter((p) => p.type === "text" && !p.synthetic && !p.ignored).map((p) => p.text).join("\n").replace(/^"([^"]*)"$/, "$1") // `run` quotes its words

// What stands in a conversation before one of its messages; calls that pmem itself put back, and
// those that have not ended, are no part of it.
const past = (messages, until) => {
  const told = []
  for (const { info, parts } of messages ?? []) {
    if (info.id === until) break
    const at = info.time?.created / 1000 || undefined
    if (info.role === "user" && words(parts).trim()) told.push({ event: "user", text: words(parts), at })
    for (const { type, tool, callID, state } of parts) {
      if (type !== "tool" || !(state.status === "completed" || state.status === "error")) continue
      const output = String(state.output ?? state.error ?? "")
      const failed = state.status === "error"
      if (failed && output.includes("[MEMORY REMINDER]")) continue
      const { start, end } = state.time ?? {}
      const code = state.metadata?.exit
      told.push({
        event: "observed",
        ...{ tool, id: callID, args: state.input, output: lastLines(output, EXCERPT) },
        exit_code: !failed && Number.isInteger(code) ? code : undefined,
        is_error: failed || undefined,
        refused: failed && REFUSED.test(output),
        seconds: end > start ? (end - start) / 1000 : undefined,
        at: start / 1000 || at,
      })
    }
  }
  return told.slice(-LONGEST)
}

export const Pmem = async ({ client, directory }) => {
  if (!reachable()) return {}
  const subagents = new Set() // sessions that another one started
  const waiting = new Map() // reminders by session, for its next request
  const started = new Map() // call: when it began
  const known = new Set() // sessions whose past is told
  const replies = new Map() // session: its latest message of the model, as far as it is told
  const compacting = new Set()
  let main
  let told = Promise.resolve() // what opencode does not wait for, in its order

  const tell = async (session, what) => {
    const agent_id = subagents.has(session) ? session : undefined
    const answer = await ask(AGENT, { session, agent_id, cwd: directory, ...what })
    if (answer?.banner) {
      const body = { title: "pmem", message: answer.banner, variant: "info", duration: SHOWN }
      Promise.resolve(client.tui.showToast({ body })).catch(() => {})
    }
    if (answer?.reminder && !answer.hold && what.event !== "finished") {
      waiting.set(session, [...(waiting.get(session) ?? []), answer.reminder])
    }
    return answer
  }
  const queue = (work) => (told = told.then(work).catch(() => {}))
  const seconds = (id) => (started.has(id) ? (Date.now() - started.get(id)) / 1000 : undefined)
  const over = (id) => {
    const took = seconds(id)
    started.delete(id)
    return took
  }

  const happened = {
    "session.created": ({ info }) => {
      if (info.parentID) subagents.add(info.id)
      else {
        if (main && main !== info.id) queue(() => tell(info.id, { event: "started", how: "clear" }))
        main = info.id
      }
    },
    "message.updated": ({ info }) => {
      if (info.role !== "assistant" || replies.get(info.sessionID)?.id === info.id) return
      replies.set(info.sessionID, { id: info.id, text: "" })
    },
    "message.part.updated": ({ part }) => {
      const reply = replies.get(part.sessionID)
      if (part.type === "text" && reply?.id === part.messageID) reply.text = part.text
      if (part.type !== "tool" || part.state.status !== "error") return
      const { input, error } = part.state
      const end = { is_error: true, refused: REFUSED.test(error), output: error }
      const call = { tool: part.tool, id: part.callID, args: input, seconds: over(part.callID) }
      queue(() => tell(part.sessionID, { event: "observed", ...call, ...end }))
    },
    "session.compacted": ({ sessionID }) => {
      const summary = replies.get(sessionID)?.text ?? ""
      queue(() => tell(sessionID, { event: "compacted", summary }))
    },
    "session.idle": ({ sessionID }) => {
      const message = replies.get(sessionID)?.text ?? ""
      queue(() => tell(sessionID, { event: "finished", message }))
    },
  }

  const hooks = {
    event: async ({ event }) => happened[event.type]?.(event.properties),
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const text = words(parts)
      if (!known.has(sessionID) && !subagents.has(sessionID)) {
        known.add(sessionID)
        const found = client.session.messages({ path: { id: sessionID } })
        const before = past((await found.catch(() => null))?.data, message?.id)
        if (before.length) await tell(sessionID, { event: "started", how: "resume", past: before })
      }
      if (text.trim()) await tell(sessionID, { event: "user", text })
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      started.set(callID, Date.now())
      const answer = await tell(sessionID, { event: "proposed", tool, id: callID, args })
      return answer?.hold ? answer.reminder : undefined
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const code = result?.metadata?.exit
      await tell(sessionID, {
        event: "observed",
        ...{ tool, id: callID, args, seconds: over(callID) },
        output: result?.output ?? "",
        exit_code: Number.isInteger(code) ? code : undefined,
      })
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      compacting.add(sessionID)
      await told
      await tell(sessionID, { event: "compacting" })
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const last = messages.findLast((m) => m.info.role === "user")
      const sessionID = last?.info.sessionID
      if (!sessionID || compacting.delete(sessionID)) return
      await told
      const reminders = waiting.get(sessionID)
      if (!reminders?.length) return
      waiting.delete(sessionID)
      const id = "msg_zzzzzzzzpmem"
      const text = reminders.join("\n\n")
      const part = { id: "prt_zzzzzzzzpmem", sessionID, messageID: id, type: "text" }
      messages.push({ info: { ...last.info, id }, parts: [{ ...part, synthetic: true, text }] })
    },
  }

  // Nothing of ours may ever throw into the agent, but for a call that is put back.
  const safe = (hook) => async (...given) => {
    try {
      return await hook(...given)
    } catch {}
  }
  const made = Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, safe(hook)]))
  const before = made["tool.execute.before"]
  made["tool.execute.before"] = async (...given) => {
    const reason = await before(...given)
    if (reason) throw new Error(reason)
  }
  return made
}
