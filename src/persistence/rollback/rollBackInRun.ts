import { fitLane } from "../migration/fitLines.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { restoredRun } from "../starting/restoredRun.ts";
import { type RollBackOptions, rollBack } from "./rollBack.ts";
import type { RollbackReport } from "./RollbackReport.ts";

/** Rolls back a run in progress, or its branch or sub-agent, and returns the recorder with which it continues. */
export async function rollBackInRun(
  options: RollBackOptions & Required<Pick<RollBackOptions, "from">>,
): Promise<{ readonly report: RollbackReport; readonly recorder: RunRecorder }> {
  const { setup, journal, signal, from } = options;
  const { report, log, state, run, lane, head, migrates } = await rollBack(options);
  const { line, parent } = from;
  line.lanes.push(lane);
  const at = { lane, run, opening: [], by: "rollback", line, parent } as const;
  if (!migrates) return { report, recorder: restoredRun(from.setup, journal, { log, state }, { ...at, head }) };
  const fitted = await fitLane({ setup, journal, signal }, lane);
  return { report, recorder: restoredRun(from.setup, journal, fitted, at) };
}
