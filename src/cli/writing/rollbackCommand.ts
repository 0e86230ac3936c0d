import type { RollbackReport } from "../../index.ts";
import { inspect, type RollbackPreview } from "../../inspect.ts";
import { type AgentOptions, requireAgent } from "../session/storedAgents.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import { findAgent } from "../ids/findLog.ts";
import { findCheckpointId } from "../ids/findCheckpointId.ts";
import { isRepeated } from "../../inspect/show/listedAgent.ts";
import { fileLines, shown, warnOfDamage } from "../reading/shown.ts";
import type { Session } from "../session/Session.ts";
import type { Output } from "../terminal/Output.ts";
import { type Paint, painted } from "../terminal/painted.ts";
import { counted, shortValue } from "../terminal/shortTexts.ts";

/** `rollback <agent> <checkpoint>`: shows the changes, requests confirmation and rolls back. */
export async function rollback(
  session: Session,
  options: AgentOptions & { readonly preview?: boolean | undefined; readonly leave?: boolean | undefined },
  given: string,
  checkpoint: string,
): Promise<ExitReason | void> {
  const { output } = session;
  const needsNone = options.preview && options.agent === undefined;
  const loaded = needsNone
    ? undefined
    : await requireAgent(session, options, "A rollback runs the inverses of your agent's tools.");
  const storage = loaded?.feature.storage ?? (await session.storage());
  const agentId = await findAgent(storage, given);
  const view = inspect(storage);
  const preview = await view.previewRollback(agentId, await findCheckpointId(view, agentId, checkpoint));
  if (!loaded || options.preview) {
    await (output.json ? output.document(preview) : showPreview(output, preview));
    return warnOfDamage(session, view, agentId);
  }
  if (session.saysChange) await showPreview(output.beside, preview);
  const { checkpointId } = preview.target;
  await session.confirm([
    "The agent ",
    painted("bold", agentId),
    ` will go ${back(preview)}to checkpoint ${checkpointId}, and be paused there.`,
  ]);
  const onFailure = options.leave ? "leave" : "stop";
  const report = await loaded.feature.agent(agentId).rollbackToCheckpoint(checkpointId, { onFailure });
  if (output.json) await output.document(report);
  else await showReport(output, report, preview);
  return report.failed.length > 0 ? "failed" : undefined;
}

function back({ commonAncestorId }: RollbackPreview): string {
  return commonAncestorId === undefined ? "back " : "";
}

const lists = [
  ["revert", "Reverted, in this order", "green"],
  ["reverted", "Reverted already", "dim"],
  ["irreversible", "Stays: it has no inverse", "red"],
  ["inDoubt", "In doubt: settle it first", "magenta"],
  ["skipped", "Skipped", "dim"],
  ["stayedReverted", "Stays reverted: the call is not made again", "yellow"],
] as const satisfies readonly (readonly [keyof RollbackPreview, string, Paint])[];

async function showPreview(output: Output, preview: RollbackPreview): Promise<void> {
  const { target, commonAncestorId, leaves, reopens, openRollbackTo } = preview;
  await output.line(
    "Rollback to ",
    painted("cyan", target.checkpointId),
    `, node ${target.node}, ${output.ago(target.at)}`,
  );
  if (commonAncestorId !== undefined)
    await output.line(
      `This is a redo: it reverts to ${commonAncestorId}, and then restores messages, state and files of the checkpoint.`,
    );
  if (openRollbackTo !== undefined)
    await output.line(painted("yellow", `An open rollback to ${openRollbackTo} is finished first.`));
  for (const [name, title, paint] of lists) {
    const calls = preview[name];
    if (calls.length === 0) continue;
    await output.line();
    await output.line(painted(paint, title));
    await output.table(
      ["CALL", "TOOL", "INPUT"],
      calls.map((call) => [
        call.toolCallId,
        `${call.tool}${name === "revert" ? firstStepOf(call) : ""}`,
        shown(call.input, 300),
      ]),
    );
  }
  await fileLines(output, "Files, if nobody else changed them", preview.files);
  await output.line();
  const opens = reopens.length === 0 ? "" : ` and reopens ${counted(reopens.length, "finished run")}`;
  if (lists.every(([name]) => preview[name].length === 0)) await output.line("The rollback reverts no calls.");
  await output.line(`The rollback abandons ${counted(leaves.length, "checkpoint")}${opens}.`);
}

/** Describes what a rollback does with a call in doubt before it runs the inverse. */
function firstStepOf(call: RollbackPreview["revert"][number]): string {
  if (call.state !== "in_doubt" && call.state !== "to_repeat") return "";
  return ` (in doubt: ${isRepeated(call) ? "executed again first" : "settled first"})`;
}

async function showReport(
  output: Output,
  { checkpointId, commonAncestorId, reverted, failed, irreversible, stayedReverted }: RollbackReport,
  { revert, inDoubt }: RollbackPreview,
): Promise<void> {
  const open = new Set([...revert, ...inDoubt].map(({ toolCallId }) => toolCallId));
  const now = reverted.filter(({ toolCallId }) => open.has(toolCallId)).length;
  const already = reverted.length === now ? "" : `${reverted.length - now} before, `;
  const counts = `${counted(now, "call")} reverted, ${already}${irreversible.length} stay, ${failed.length} failed.`;
  const title = commonAncestorId === undefined ? "Rolled back to " : "Redone to ";
  await output.line(title, painted("cyan", checkpointId), `: ${counts}`);
  for (const { toolName, toolCallId, error } of failed)
    await output.line(painted("red", `${toolName} ${toolCallId}: ${shortValue((error as Error).message, 500)}`));
  if (stayedReverted.length > 0) await output.line("Calls that stay reverted, and were not made again:");
  for (const { toolName, toolCallId } of stayedReverted) await output.line(`${toolName} ${toolCallId}`);
}
