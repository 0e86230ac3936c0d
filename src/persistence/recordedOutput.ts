import { stateAt } from "../checkpoint/AgentState.ts";
import { UnreadableValueError } from "../errors/UnreadableValueError.ts";
import type { Journal } from "../journal/Journal.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

/** The output of a run that has ended. */
export async function recordedOutput(recordLog: RecordLog, journal: Journal, runId: string): Promise<unknown> {
  const [version] = journal.runs.get(runId) ?? [];
  const recent = journal.head?.log;
  const found =
    version === undefined
      ? undefined
      : (outputIn(recent, version) ?? outputIn(await AgentLog.read(recordLog, journal.agentId), version));
  if (!found) throw new UnreadableValueError(`the end of run ${runId} is not in the log`);
  return found.output;
}

function outputIn(log: AgentLog | undefined, version: number): { readonly output: unknown } | undefined {
  const point = log?.index.checkpoints.get(version);
  const state = point && log && stateAt(log.index, point);
  return point && state && log && { output: log.reader(state).read(point.record.input) };
}
