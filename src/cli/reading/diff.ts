import { type AgentInspector, type CheckpointDifference, inspect, type ShownValue } from "../../inspect.ts";
import { assertFound } from "../ids/assertFound.ts";
import { findAgent } from "../ids/findAgent.ts";
import { findCheckpoint } from "../ids/findCheckpoint.ts";
import { CommandFailure } from "../failure/CommandFailure.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { changedLines } from "../show/changedLines.ts";
import { fileLines } from "../show/fileLines.ts";
import { messageText } from "../show/messageText.ts";

export async function diff(
  session: Session,
  _options: CommonOptions,
  given: string,
  from: string,
  to?: string,
): Promise<void> {
  const { output } = session;
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  const view = inspect(storage);
  const fromId = await findCheckpoint(view, agentId, from);
  const toId = to === undefined ? await newest(view, agentId) : await findCheckpoint(view, agentId, to);
  const difference = await view.diff(agentId, fromId, toId);
  if (output.json) return output.document(difference);
  await showDifference(session, difference);
}

async function newest(view: AgentInspector, agentId: string): Promise<string> {
  const { head } = assertFound(await view.agent(agentId), agentId);
  if (head) return head.checkpointId;
  throw new CommandFailure("notFound", `The agent ${JSON.stringify(agentId)} has no checkpoint.`);
}

async function showDifference(
  session: Session,
  { from, to, messages, input, storage, settings, files }: CheckpointDifference,
): Promise<void> {
  const { output } = session;
  await output.line(painted("red", `- ${from.checkpointId}`), `  node ${from.node}  ${output.ago(from.at)}`);
  await output.line(painted("green", `+ ${to.checkpointId}`), `  node ${to.node}  ${output.ago(to.at)}`);
  if (messages.removed.length + messages.added.length > 0) {
    await output.line();
    await output.line(painted("bold", "Messages"), ` (${messages.kept} in both)`);
  }
  for (const message of messages.removed) await showMessage(session, "-", message);
  for (const message of messages.added) await showMessage(session, "+", message);
  if (input) await showChange(session, "Input", input);
  for (const [key, change] of Object.entries(storage)) await showChange(session, `Storage: ${key}`, change);
  for (const [key, change] of Object.entries(settings)) await showChange(session, `Setting: ${key}`, change);
  await fileLines(output, "Files", files);
}

async function showMessage(
  { output }: Session,
  sign: "+" | "-",
  message: CheckpointDifference["messages"]["added"][number],
): Promise<void> {
  const paint = sign === "+" ? "green" : "red";
  const { role, text } = messageText(message);
  await output.line(painted(paint, `${sign} ${role}`));
  for (const line of text.split("\n")) await output.line(painted(paint, `${sign}   ${line}`));
}

async function showChange(
  { output }: Session,
  title: string,
  { before, after }: { readonly before?: ShownValue; readonly after?: ShownValue },
): Promise<void> {
  await output.line();
  await output.line(painted("bold", title));
  for (const { sign, text } of await changedLines(before, after)) {
    if (sign === " ") await output.line(`  ${text}`);
    else await output.line(painted(sign === "+" ? "green" : "red", `${sign} ${text}`));
  }
}
