// pmem's extension for pi. It tells each call before and after it ran, and says a reminder in the
// next request to the model alone: it stands in no session file.
import { ask, lastLines, reachable } from "./wire.mjs"

const AGENT = "pi"
const EXIT = /^Command exited with code (\d+)\s*$/m
const REFUSED = /\baborted\b|cancelled by the user|blocked by user/i
const LONGEST = 1000 // steps of a resumed conversation
const EXCERPT = 4000 // characters of each

const words = (content) =>
  typeof content === "string"
    ? content
    : (content ?? []).filter((p) => p.type === "text").map((p) => p.text).join("\n")

// A finished call as it is told.
const result = (id, tool, args, content, isError) => {
  const output = words(content)
  const code = isError ? EXIT.exec(output)?.[1] : 0
  return {
    event: "observed",
    ...{ tool, id, args },
    output: output.replace(/\n*Command exited with code \d+\s*$/, ""),
    exit_code: code === undefined ? undefined : Number(code),
    is_error: isError ? true : undefined,
    refused: Boolean(isError && code === undefined && REFUSED.test(output)),
  }
}

// What stands in a conversation already; calls that pmem itself put back are no part of it.
const past = (ctx) => {
  const calls = new Map()
  const told = []
  for (const entry of ctx?.sessionManager?.getBranch?.() ?? []) {
    if (entry.type === "compaction") told.push({ event: "compacted", summary: entry.summary })
    const said = entry.type === "message" ? entry.message : {}
    const at = said.timestamp / 1000 || undefined
    if (said.role === "user") told.push({ event: "user", text: words(said.content), at })
    if (said.role === "assistant") {
      for (const part of said.content ?? []) if (part.type === "toolCall") calls.set(part.id, part)
    }
    const call = said.role === "toolResult" && calls.get(said.toolCallId)
    if (!call) continue
    const { toolCallId, content, isError } = said
    const step = result(toolCallId, call.name, call.arguments, content, isError)
    if (isError && step.output.includes("[MEMORY REMINDER]")) continue
    told.push({ ...step, output: lastLines(step.output, EXCERPT), at })
  }
  return told.slice(-LONGEST)
}

export default function (pi) {
  if (!reachable()) return
  let waiting = [] // reminders for the next request
  let message = "" // the model's latest words
  const started = new Map() // call: when it began

  const tell = async (what, ctx) => {
    const session = ctx?.sessionManager?.getSessionId?.()
    const answer = await ask(AGENT, { session, cwd: ctx?.cwd ?? process.cwd(), ...what })
    if (answer?.banner && ctx?.hasUI) ctx.ui.notify(answer.banner, "info")
    if (answer?.reminder && !answer.hold && what.event !== "finished") waiting.push(answer.reminder)
    return answer
  }
  const ended = (id, tool, args, content, isError, ctx) => {
    const seconds = started.has(id) ? (Date.now() - started.get(id)) / 1000 : undefined
    started.delete(id)
    return tell({ ...result(id, tool, args, content, isError), seconds }, ctx)
  }

  const handlers = {
    session_start: async ({ reason }, ctx) => {
      const before = past(ctx)
      const how = { new: "clear", resume: "resume", fork: "resume" }[reason]
      if (how === "clear") await tell({ event: "started", how }, ctx)
      else if (how || before.length) await tell({ event: "started", how: "resume", past: before }, ctx)
    },
    input: async ({ text, source }, ctx) => {
      if (source !== "extension" && text?.trim()) await tell({ event: "user", text }, ctx)
    },
    tool_call: async ({ toolName, toolCallId, input }, ctx) => {
      started.set(toolCallId, Date.now())
      const call = { tool: toolName, id: toolCallId, args: input }
      const answer = await tell({ event: "proposed", ...call }, ctx)
      if (answer?.hold) return { block: true, reason: answer.reminder }
    },
    tool_result: async ({ toolName, toolCallId, input, content, isError }, ctx) => {
      await ended(toolCallId, toolName, input, content, isError, ctx)
    },
    // A call that was blocked, aborted or malformed has no result, only this.
    tool_execution_end: async ({ toolName, toolCallId, args, result, isError }, ctx) => {
      if (!isError || !started.has(toolCallId)) return
      await ended(toolCallId, toolName, args, result?.content, true, ctx)
    },
    context: async ({ messages }) => {
      if (!waiting.length) return
      const content = [{ type: "text", text: waiting.join("\n\n") }]
      waiting = []
      return { messages: [...messages, { role: "user", content, timestamp: Date.now() }] }
    },
    message_end: async ({ message: said }) => {
      if (said?.role === "assistant") message = words(said.content)
    },
    session_before_compact: async (_, ctx) => void (await tell({ event: "compacting" }, ctx)),
    session_compact: async ({ compactionEntry }, ctx) => {
      await tell({ event: "compacted", summary: compactionEntry?.summary ?? "" }, ctx)
    },
    agent_settled: async (_, ctx) => void (await tell({ event: "finished", message }, ctx)),
    session_shutdown: async ({ reason }, ctx) => {
      if (reason === "quit") await tell({ event: "ended" }, ctx)
    },
  }
  for (const [name, handler] of Object.entries(handlers)) {
    pi.on(name, async (event, ctx) => {
      try {
        return await handler(event, ctx)
      } catch {}
    })
  }
}
