import type { AgentInspector, CheckpointContent, MessageView } from "../../inspect.ts";
import { findCheckpoint } from "../ids/findCheckpoint.ts";
import type { Session } from "../session/Session.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { callTable } from "../show/callTable.ts";
import { fileLines } from "../show/fileLines.ts";
import { messageText } from "../show/messageText.ts";
import { shown } from "../show/shown.ts";

export async function showCheckpoint(
  session: Session,
  view: AgentInspector,
  { agentId, given, messages }: { readonly agentId: string; readonly given: string; readonly messages: number },
): Promise<void> {
  const { output } = session;
  const checkpointId = await findCheckpoint(view, agentId, given);
  const content = await view.checkpoint(agentId, checkpointId, { messagesLimit: messages === 0 ? Infinity : messages });
  if (output.json) return output.document(content);
  await showFacts(session, content);
  if (content.messages.length > 0) await showMessages(session, content);
  if (content.calls.length > 0) await callTable(output, "Tool calls since its parent", content.calls);
  await fileLines(output, "Files since its parent", content.files);
}

async function showFacts({ output }: Session, content: CheckpointContent): Promise<void> {
  const { checkpoint, storage, tools, model } = content;
  const { checkpointId, name, at, node, line, parentId = "none", move, progress, summary } = checkpoint;
  const fact = (title: string, ...parts: readonly Part[]) => output.line(painted("dim", title.padEnd(12)), ...parts);
  await fact(
    "checkpoint",
    painted("cyan", checkpointId),
    name === undefined ? "" : `  "${name}"`,
    `  ${output.ago(at)}`,
  );
  await fact("next", `node ${node}`, line.branch === undefined ? "" : `, on branch ${line.branch}`);
  await fact("parent", parentId, move === undefined ? "" : `, made by a move: ${move}`);
  await fact("input", shown(content.input));
  if (model !== undefined) await fact("model", model);
  if (tools.length > 0) await fact("tools", tools.join(", "));
  if (progress !== undefined) await fact("progress", `${progress} %  ${summary ?? ""}`);
  for (const [key, value] of Object.entries(storage)) await fact("storage", `${key} = `, shown(value));
  for (const { decision, reason = "" } of content.decisions) await fact("decision", `${decision}  ${reason}`);
}

async function showMessages({ output }: Session, { messages, messageCount }: CheckpointContent): Promise<void> {
  await output.line();
  const older = messageCount - messages.length;
  await output.line(painted("bold", "Messages"), older > 0 ? ` (the last ${messages.length} of ${messageCount})` : "");
  for (const message of messages) await showMessage(output, message);
}

async function showMessage(output: Session["output"], message: MessageView): Promise<void> {
  const { role, text } = messageText(message);
  await output.line(painted("cyan", role));
  await output.text(text, "  ");
}
