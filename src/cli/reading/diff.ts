import { type AgentInspector, type CheckpointDifference, inspect, type ShownValue } from "../../inspect.ts";
import { assertFound, findAgent } from "../ids/findLog.ts";
import { findCheckpointId } from "../ids/findCheckpointId.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { painted, plain } from "../terminal/painted.ts";
import { fileLines, messageText, shown, warnOfDamage } from "./shown.ts";
import { jsonText } from "../terminal/visibleText.ts";

/** The maximum length of texts that are compared. */
const longest = 50_000;
/** The maximum number of different lines. The time of a comparison grows with the square of this number. */
const mostLines = 3_000;

export async function diff(
  session: Session,
  _options: CommonOptions,
  given: string,
  from: string,
  to?: string,
): Promise<ExitReason | void> {
  const { output } = session;
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  const view = inspect(storage);
  const fromId = await findCheckpointId(view, agentId, from);
  const toId = to === undefined ? await newest(view, agentId) : await findCheckpointId(view, agentId, to);
  const difference = await view.diff(agentId, fromId, toId);
  if (output.json) await output.document(difference);
  else await showDifference(session, difference);
  return warnOfDamage(session, view, agentId);
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

interface ChangedLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

async function changedLines(
  before: ShownValue | undefined,
  after: ShownValue | undefined,
): Promise<readonly ChangedLine[]> {
  const [old, current] = [textOf(before), textOf(after)];
  const { diffLines } = await import("diff");
  const isLong = old.length + current.length > longest;
  const changes = isLong ? undefined : diffLines(old, current, { maxEditLength: mostLines });
  if (!changes) return [...lines("-", plain(shown(before))), ...lines("+", plain(shown(after)))];
  return changes.flatMap(({ value, added, removed }) =>
    lines(added ? "+" : removed ? "-" : " ", value.replace(/\n$/, "")),
  );
}

function lines(sign: ChangedLine["sign"], text: string): readonly ChangedLine[] {
  return text === "" ? [] : text.split("\n").map((line) => ({ sign, text: line }));
}

function textOf(value: ShownValue | undefined): string {
  if (value === undefined) return "";
  if ("unreadable" in value) return `${plain(shown(value))}\n`;
  return `${typeof value.value === "string" ? value.value : jsonText(value.value, 2)}\n`;
}
