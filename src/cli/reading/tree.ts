import { type CheckpointView, inspect } from "../../inspect.ts";
import { findAgent } from "../ids/findLog.ts";
import { newestCheckpoints, type NewestCheckpoints } from "../ids/findCheckpointId.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { checkpointGraph } from "./checkpointGraph.ts";
import { warnOfDamage } from "./shown.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";

export interface TreeCommandOptions extends CommonOptions {
  readonly last: number;
}

export async function tree(session: Session, { last }: TreeCommandOptions, given: string): Promise<ExitReason | void> {
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  const view = inspect(storage);
  await showTree(session, await newestCheckpoints(view, agentId, last === 0 ? Infinity : last));
  return warnOfDamage(session, view, agentId);
}

async function showTree(session: Session, { checkpoints, total }: NewestCheckpoints): Promise<void> {
  const { output } = session;
  if (output.json) return output.document({ checkpoints, total });
  if (checkpoints.length === 0) return output.note("It has no checkpoints.");
  const rows = checkpointGraph(checkpoints).map(({ graph, checkpoint }) => rowOf(session, graph, checkpoint));
  await output.table(["", "CHECKPOINT", "NEXT NODE", "MADE BY", "WHEN"], rows);
  if (checkpoints.length < total)
    await output.note(`The newest ${checkpoints.length} of ${total}: --last shows others.`);
}

function rowOf(
  { output }: Session,
  graph: string,
  checkpoint: CheckpointView | undefined,
): readonly (readonly Part[])[] {
  if (checkpoint === undefined) return [[graph], [""], [""], [""], [""]];
  const { checkpointId, name, node, line, at, isHead, isLeft } = checkpoint;
  const where = [...line.agentPath, ...(line.branch === undefined ? [] : [line.branch]), node].join(" › ");
  return [
    [painted(isHead ? "green" : isLeft ? "dim" : "cyan", graph)],
    [painted(isHead ? "bold" : isLeft ? "dim" : "cyan", checkpointId), name === undefined ? "" : ` "${name}"`],
    [where, isHead ? painted("green", "  ← head") : ""],
    [madeBy(checkpoint)],
    [output.ago(at)],
  ];
}

function madeBy({ move, trigger, by, reason, status }: CheckpointView): Part {
  if (move !== undefined) return painted("yellow", [move, by, reason].filter((text) => text !== undefined).join(", "));
  if (status !== "in_progress") return painted(status === "completed" ? "green" : "dim", `${status} run`);
  return trigger === "asked_for" ? "createCheckpoint()" : (trigger ?? "");
}
