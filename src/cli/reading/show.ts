import { type AgentView, inspect } from "../../inspect.ts";
import { findAgent } from "../ids/findAgent.ts";
import { findLog } from "../ids/findLog.ts";
import { assertFound } from "../ids/assertFound.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import type { Output } from "../terminal/Output.ts";
import { counted } from "../terminal/counted.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { callTable } from "../show/callTable.ts";
import { requestTable } from "../show/requestTable.ts";
import { showCheckpoint } from "./showCheckpoint.ts";
import { shown } from "../show/shown.ts";
import { statusOf } from "../show/statusOf.ts";

export interface ShowCommandOptions extends CommonOptions {
  readonly messages: number;
}

const mostRuns = 5;

export async function show(
  session: Session,
  { messages }: ShowCommandOptions,
  given: string,
  checkpoint?: string,
): Promise<void> {
  const storage = await session.storage();
  const agentId = await (checkpoint === undefined ? findLog : findAgent)(storage, given);
  const view = inspect(storage);
  if (checkpoint !== undefined) return showCheckpoint(session, view, { agentId, given: checkpoint, messages });
  const agent = assertFound(await view.agent(agentId), agentId);
  const { output } = session;
  if (output.json) return output.document(agent);
  if (agent.shape !== "agent") return showShape(session, agent);
  for (const [name, ...parts] of factsOf(agent, output)) await output.line(painted("dim", name.padEnd(12)), ...parts);
  await showParts(session, agent);
}

/** Prints only the records of a log that does not belong to an agent. */
async function showShape({ output }: Session, { agentId, shape }: AgentView): Promise<void> {
  await output.line(painted("dim", "id".padEnd(12)), painted("bold", agentId));
  await output.line(painted("dim", "shape".padEnd(12)), shapeNames[shape] ?? shape);
  await output.line("It is no agent. The commands log and verify read it; what wrote it shows what it holds.");
}

const shapeNames: Readonly<Record<string, string>> = {
  thread: "a thread of LangGraph",
  session: "a session of the OpenAI Agents SDK",
};

type Fact = readonly [name: string, ...parts: readonly Part[]];

function factsOf(agent: AgentView, output: Output): readonly Fact[] {
  const { status, reason, head, owner, task, forkOf, movedTo, model, counts } = agent;
  return [
    ["agent", painted("bold", agent.agentId)],
    ["status", statusOf(status), reason === undefined ? "" : `  ${reason}`, `  ${output.ago(agent.updatedAt)}`],
    ...(task ? [["task", `${task.name}, priority ${task.priority}, ${task.attempts} attempts`] as const] : []),
    ...(head ? [["next", `node ${head.node}, at checkpoint `, painted("cyan", head.checkpointId)] as const] : []),
    ...(owner ? [["owner", `process ${owner.processId} on ${owner.host}, `, ownerState(owner.state)] as const] : []),
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

function ownerState(state: "alive" | "gone" | "silent"): Part {
  if (state === "alive") return painted("green", "which runs it");
  return painted("yellow", state === "gone" ? "which has ended" : "which is silent");
}

function tokensOf({ usage }: AgentView): string {
  return usage?.totalTokens === undefined ? "" : `, ${usage.totalTokens.toLocaleString("en")} tokens`;
}

async function showParts({ output }: Session, agent: AgentView): Promise<void> {
  const { damage, requests, inDoubt, openRollback, runs } = agent;
  for (const { code, message } of damage) await output.line(painted("red", `damaged (${code}): ${message}`));
  if (openRollback)
    await output.line(
      painted("yellow", `A rollback to ${openRollback.targetId ?? "a pruned checkpoint"} is not over.`),
    );
  const open = requests.filter(({ state }) => state === "open");
  if (open.length > 0) await requestTable(output, "It asks", open);
  if (inDoubt.length > 0) await callTable(output, "Calls in doubt", inDoubt);
  const newest = runs.slice(-mostRuns);
  if (newest.length === 0) return;
  await output.line();
  await output.table(
    ["RUN", "STATUS", "BEGAN", "INPUT"],
    newest.map((run) => [run.runId, statusOf(run.status), output.ago(run.startedAt), shown(run.input, 300)]),
  );
}
