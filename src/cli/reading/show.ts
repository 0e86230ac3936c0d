import {
  type AgentView,
  inspect,
  type AgentInspector,
  type CheckpointContent,
  type CheckpointView,
  type MessageView,
  type CallView,
  type RequestView,
  type RollbackView,
} from "../../inspect.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { findAgent, findLog, assertFound } from "../ids/findLog.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import type { Output } from "../terminal/Output.ts";
import { counted } from "../terminal/shortTexts.ts";
import { type Part, painted, type Paint } from "../terminal/painted.ts";
import { isRepeated } from "../../inspect/show/listedAgent.ts";
import { awayText, shown, statusOf, messageText, fileLines, dueText, warnOfDamage } from "./shown.ts";
import { findCheckpointId } from "../ids/findCheckpointId.ts";

const paints: Readonly<Record<CallView["state"], Paint>> = {
  running: "cyan",
  in_doubt: "magenta",
  interrupted: "yellow",
  waiting: "yellow",
  succeeded: "green",
  failed: "red",
  lost: "red",
  moved: "blue",
  unknown: "magenta",
  to_repeat: "yellow",
};

const mostRuns = 5;

export async function show(
  session: Session,
  { messages }: CommonOptions & { readonly messages: number },
  given: string,
  checkpoint?: string,
): Promise<ExitReason | void> {
  const storage = await session.storage();
  const agentId = await (checkpoint === undefined ? findLog : findAgent)(storage, given);
  const view = inspect(storage);
  if (checkpoint !== undefined) await showCheckpoint(session, view, { agentId, given: checkpoint, messages });
  else await showAgent(session, assertFound(await view.agent(agentId), agentId));
  return warnOfDamage(session, view, agentId);
}

async function showAgent(session: Session, agent: AgentView): Promise<void> {
  const { output } = session;
  if (output.json) return output.document(agent);
  if (agent.shape !== "agent") return showShape(session, agent);
  for (const [name, ...parts] of factsOf(agent, output)) await output.line(painted("dim", name.padEnd(12)), ...parts);
  await showParts(session, agent);
}

/** Shows a log without an agent, and names the API that reads the log. */
async function showShape({ output }: Session, { agentId, shape }: AgentView): Promise<void> {
  await output.line(painted("dim", "id".padEnd(12)), painted("bold", agentId));
  await output.line(painted("dim", "shape".padEnd(12)), shapeNames[shape] ?? shape);
  await output.line(
    `This is no agent. You can read it with the commands log and verify. ${readingOf(agentId)[shape] ?? ""}`.trimEnd(),
  );
}

const shapeNames: Readonly<Record<string, string>> = {
  thread: "a thread of LangGraph",
  session: "a session of the OpenAI Agents SDK",
};

function readingOf(logId: string): Readonly<Record<string, string>> {
  const id = quoted(logId.slice(logId.indexOf(":") + 1));
  return {
    thread:
      `Its steps and open interrupts: graph.getStateHistory({ configurable: { thread_id: ${id} } }). ` +
      `A call in doubt: checkpointer.settleToolCall(${id}, toolCallId, settlement).`,
    session: `Its items: new PersistenceSession({ storage, sessionId: ${id} }).getItems().`,
  };
}

type Fact = readonly [name: string, ...parts: readonly Part[]];

function factsOf(agent: AgentView, output: Output): readonly Fact[] {
  const { status, reason = "", head, owner, task, forkOf, movedTo, model, counts } = agent;
  const away = awayText(status);
  return [
    ["agent", painted("bold", agent.agentId)],
    ["status", statusOf(status), `  ${dueIn(agent, output) ?? reason}`.trimEnd(), `  ${output.ago(agent.updatedAt)}`],
    ...(task ? [["task", `${task.name}, priority ${task.priority}, ${task.attempts} attempts`] as const] : []),
    ...(head ? [headFact(agent, head)] : []),
    ...(away === undefined ? [] : [["next", away] as const]),
    ...(owner ? [ownerFact(owner)] : []),
    ...(model === undefined ? [] : [["model", model, tokensOf(agent)] as const]),
    ...(forkOf ? [["fork of", forkOf.agentId] as const] : []),
    ...(movedTo ? [["moved to", `${movedTo.agentId} ${movedTo.folder ?? ""}`] as const] : []),
    ["created", output.ago(agent.createdAt)],
    [
      "has",
      [
        counted(counts.checkpoints, "checkpoint"),
        counted(counts.calls, "tool call"),
        counted(counts.runs, "run"),
        counted(counts.rollbacks, "rollback"),
      ].join(", "),
    ],
  ];
}

function dueIn({ status, requests }: AgentView, output: Output): string | undefined {
  if (status !== "waiting") return undefined;
  const ends = requests.flatMap(({ state, dueAt, expiresAt }) => (state === "open" ? (dueAt ?? expiresAt ?? []) : []));
  return dueText(output, ends.toSorted()[0]);
}

/** Returns the next node, or only the checkpoint for a run that has ended or may not continue in this storage. */
function headFact({ status, openRollback }: AgentView, { node, checkpointId }: CheckpointView): Fact {
  const id = painted("cyan", checkpointId);
  const isOver = status === "completed" || status === "cancelled" || awayText(status) !== undefined;
  if (isOver || openRollback) return ["last", "checkpoint ", id];
  return ["next", `node ${node}, at checkpoint `, id];
}

function ownerFact({ processId, host, state }: NonNullable<AgentView["owner"]>): Fact {
  // Storages report process 0 if they cannot read the owner.
  const isKnown = processId > 0;
  const process = isKnown ? `process ${processId} on ${host}, ` : "an unknown process, ";
  if (state === "alive") return ["owner", process, painted("green", isKnown ? "which runs it" : "which may run it")];
  return ["owner", process, painted("yellow", state === "gone" ? "which has ended" : "which is silent")];
}

function tokensOf({ usage }: AgentView): string {
  return usage?.totalTokens === undefined ? "" : `, ${usage.totalTokens.toLocaleString("en")} tokens`;
}

async function showParts({ output }: Session, agent: AgentView): Promise<void> {
  const { damage, requests, inDoubt, openRollback, runs } = agent;
  for (const { code, message } of damage) await output.line(painted("red", `damaged (${code}): ${message}`));
  if (openRollback) await output.line(painted("yellow", openRollbackText(agent, openRollback)));
  const open = requests.filter(({ state }) => state === "open");
  if (open.length > 0) await requestTable(output, "It asks", open);
  const [repeated, doubtful] = [inDoubt.filter(isRepeated), inDoubt.filter((call) => !isRepeated(call))];
  if (doubtful.length > 0) await callTable(output, "Calls in doubt", doubtful);
  if (repeated.length > 0) await callTable(output, "Interrupted calls, which a resume executes again", repeated);
  const newest = runs.slice(-mostRuns);
  if (newest.length === 0) return;
  await output.line();
  await output.table(
    ["RUN", "STATUS", "BEGAN", "INPUT"],
    newest.map((run) => [run.runId, statusOf(run.status), output.ago(run.startedAt), shown(run.input, 300)]),
  );
}

function openRollbackText({ agentId }: AgentView, { targetId }: RollbackView): string {
  const settling = `To settle an inverse, use settle ${agentId}.`;
  if (targetId === undefined)
    return `A rollback to a pruned checkpoint is not over. To finish it, use resume ${agentId}. ${settling}`;
  const again = `rollback ${agentId} ${targetId}`;
  const leaving = `To skip calls that cannot be reverted, use ${again} --leave.`;
  return `A rollback to ${targetId} is not over. To finish it, use ${again}. ${settling} ${leaving}`;
}

async function showCheckpoint(
  session: Session,
  view: AgentInspector,
  { agentId, given, messages }: { readonly agentId: string; readonly given: string; readonly messages: number },
): Promise<void> {
  const { output } = session;
  const checkpointId = await findCheckpointId(view, agentId, given);
  const content = await view.checkpoint(agentId, checkpointId, { messagesLimit: messages === 0 ? Infinity : messages });
  if (output.json) return output.document(content);
  await showFacts(session, content);
  if (content.messages.length > 0) await showMessages(session, content);
  if (content.calls.length > 0) await callTable(output, "Tool calls since its parent", content.calls);
  await fileLines(output, "Files since its parent", content.files);
}

async function showFacts({ output }: Session, content: CheckpointContent): Promise<void> {
  const { checkpoint, storage, tools, model } = content;
  const { checkpointId, name, at, parentId = "none", move, progress, summary } = checkpoint;
  const fact = (title: string, ...parts: readonly Part[]) => output.line(painted("dim", title.padEnd(12)), ...parts);
  await fact(
    "checkpoint",
    painted("cyan", checkpointId),
    name === undefined ? "" : `  "${name}"`,
    `  ${output.ago(at)}`,
  );
  await fact(...placeFact(checkpoint));
  await fact("parent", parentId, move === undefined ? "" : `, made by a move: ${move}`);
  await fact(checkpoint.status === "in_progress" ? "input" : "output", shown(content.input));
  if (model !== undefined) await fact("model", model);
  if (tools.length > 0) await fact("tools", tools.join(", "));
  if (progress !== undefined) await fact("progress", `${progress} %  ${summary ?? ""}`);
  for (const [key, value] of Object.entries(storage)) await fact("storage", `${key} = `, shown(value));
  for (const { decision, reason = "" } of content.decisions) await fact("decision", `${decision}  ${reason}`);
}

function placeFact({ status, node, line }: CheckpointView): Fact {
  const branch = line.branch === undefined ? "" : `, on branch ${line.branch}`;
  return status === "in_progress" ? ["next", `node ${node}`, branch] : ["status", statusOf(status), branch];
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

async function callTable(output: Output, title: string, calls: readonly CallView[]): Promise<void> {
  await output.line();
  await output.line(painted("bold", title));
  await output.table(
    ["CALL", "TOOL", "STATE", "UNDO", "INPUT", "OUTPUT"],
    calls.map((call) => [
      call.toolCallId,
      call.tool,
      stateOf(call),
      call.undo,
      shown(call.input, 200),
      outcomeOf(call),
    ]),
  );
}

function stateOf({ state, undo }: CallView): Part {
  return undo === "reverted" ? painted("strikethrough", state) : painted(paints[state], state);
}

function outcomeOf({ output, error }: CallView): Part {
  if (error !== undefined) return painted("red", error);
  return output === undefined ? "" : shown(output, 200);
}

async function requestTable(output: Output, title: string, requests: readonly RequestView[]): Promise<void> {
  await output.line();
  await output.line(painted("bold", title));
  await output.table(
    ["REQUEST", "WAITS FOR", "ASKED", "WHAT"],
    requests.map((each) => [each.requestId, each.waitingFor, output.ago(each.askedAt), whatOf(each)]),
  );
}

function whatOf({ prompt, call }: RequestView): readonly Part[] {
  const asked = shown(prompt, 500);
  return call ? [asked, ` (${call.tool} `, shown(call.input, 300), ")"] : [asked];
}
