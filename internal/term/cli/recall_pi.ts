// It adds what earlier sessions say about a prompt or a file. firn recall --uninstall pi
// removes it.
import { spawn } from "node:child_process";

const firn = ["firn"];

// recall runs firn recall with the input of a hook and returns what it knows, or "".
function recall(flags, input) {
  return new Promise((resolve) => {
    let out = "";
    const child = spawn(firn[0], [...firn.slice(1), "recall", ...flags], { stdio: ["pipe", "pipe", "ignore"], timeout: 10_000 });
    child.on("error", () => resolve(""));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (data) => (out += data));
    child.on("close", () => {
      try {
        resolve(JSON.parse(out).hookSpecificOutput.additionalContext ?? "");
      } catch {
        resolve("");
      }
    });
    child.stdin.end(JSON.stringify(input));
  });
}

export default function (pi) {
  // session returns the fields that every hook has.
  const session = (ctx) => ({ cwd: ctx?.cwd ?? process.cwd(), session_id: ctx?.sessionManager?.getSessionId?.() ?? "" });

  pi.on("before_agent_start", async (event, ctx) => {
    const text = await recall(["--for-prompt"], { ...session(ctx), hook_event_name: "UserPromptSubmit", prompt: event.prompt });
    return text ? { message: { customType: "firn-recall", content: text, display: false } } : undefined;
  });

  // A tool call cannot carry more context in pi; its result can.
  pi.on("tool_result", async (event, ctx) => {
    if (!["read", "edit", "write"].includes(event.toolName) || !Array.isArray(event.content)) return undefined;
    const text = await recall(["--for-file", "-"], { ...session(ctx), hook_event_name: "PreToolUse", tool_name: event.toolName, tool_input: event.input });
    return text ? { content: [...event.content, { type: "text", text }] } : undefined;
  });
}
