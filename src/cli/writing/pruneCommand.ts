import type { PruneReport } from "../../index.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import { type AgentOptions, requireAgent } from "../session/storedAgents.ts";
import { findAgent } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { type Output, withProgress } from "../terminal/Output.ts";
import { counted, bytesText } from "../terminal/shortTexts.ts";
import { painted } from "../terminal/painted.ts";

const why = "Pruning depends on the retention policy and the inverses of your agent.";

/** `prune [agent]`: deletes data that the retention policy does not keep. */
export async function prune(
  session: Session,
  options: AgentOptions & { readonly dryRun?: boolean | undefined },
  given?: string,
): Promise<ExitReason | void> {
  const { output } = session;
  const { feature } = await requireAgent(session, options, why);
  const agentId = given === undefined ? undefined : await findAgent(feature.storage, given);
  const foreseen = await withProgress(output, "Finding the data to prune", () =>
    feature.prune({ agentId, dryRun: true }),
  );
  if (options.dryRun) return show(session, foreseen, "would be deleted");
  if (foreseen.pruned.length > 0) {
    if (session.saysChange) await showAgents(output.beside, foreseen);
    await session.confirm([`${sizeOf(foreseen)} will be deleted permanently.`]);
  }
  const report = await withProgress(output, "Pruning", () => feature.prune({ agentId }));
  return show(session, report, "deleted");
}

async function show(session: Session, report: PruneReport, what: string): Promise<ExitReason | void> {
  const { output } = session;
  if (output.json) await output.document(report);
  else {
    await showAgents(output, report);
    await output.line(report.pruned.length === 0 ? `Nothing ${what}.` : `${sizeOf(report)} ${what}.`);
  }
  return report.failed.length > 0 ? "failed" : undefined;
}

function sizeOf({ bytes, pruned }: PruneReport): string {
  return `${bytesText(bytes)} of ${counted(pruned.length, "agent")}`;
}

async function showAgents(output: Output, { pruned, busy, failed }: PruneReport): Promise<void> {
  const rows = [
    ...pruned.map(({ agentId, dropped, checkpointIds, bytes }) => [
      agentId,
      dropped ? painted("red", "the whole agent") : `${checkpointIds.length} checkpoints`,
      bytesText(bytes),
    ]),
    ...busy.map((agentId) => [agentId, painted("yellow", "in use, so skipped"), ""]),
    ...failed.map(({ agentId, error }) => [agentId, painted("red", String((error as Error).message)), ""]),
  ];
  if (rows.length > 0) await output.table(["AGENT", "WHAT", "SIZE"], rows);
}
