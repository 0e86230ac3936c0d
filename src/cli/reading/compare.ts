import { resolve } from "node:path";
import { compareRuns, readRunTrace } from "../../replay.ts";
import { comparisonPage } from "../../timeline.ts";
import { findAgent } from "../ids/findLog.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import { writeOver } from "../storage/commandFiles.ts";
import { comparisonLines } from "./comparisonLines.ts";
import { pricesIn } from "./pricesIn.ts";

export interface CompareCommandOptions extends CommonOptions {
  readonly run?: string | undefined;
  readonly otherRun?: string | undefined;
  readonly prices?: string | undefined;
  readonly out?: string | undefined;
}

/** `compare <agent> [other]`: shows what differs between two runs. */
export async function compare(
  session: Session,
  { run, otherRun, prices: file, out }: CompareCommandOptions,
  given: string,
  other?: string,
): Promise<ExitReason | void> {
  const { output, io } = session;
  if (other === undefined && otherRun === undefined)
    throw new CommandFailure("usage", "Name the second run: another agent, or --other-run <run> of the same agent.");
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  const otherId = other === undefined ? agentId : await findAgent(storage, other);
  const prices = file === undefined ? undefined : await pricesIn(resolve(io.cwd, file));
  const before = await readRunTrace(storage, { agentId, runId: run });
  const after = await readRunTrace(storage, { agentId: otherId, runId: otherRun });
  const comparison = compareRuns(before, after, { prices });
  if (out !== undefined) await writeOver(resolve(io.cwd, out), comparisonPage(before, after, { prices }));
  if (output.json) await output.document(comparison);
  else {
    await comparisonLines(output, comparison);
    if (out !== undefined) await output.line(`Wrote ${resolve(io.cwd, out)}.`);
  }
  return comparison.isSame ? undefined : "differs";
}
