import { StrategyChangedError } from "../../errors/agent/StrategyChangedError.ts";
import { eventLine } from "../../events/eventEmitter.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { changedStructure } from "../record/strategyRecord.ts";
import type { StoredState } from "../start/startRecorder.ts";
import { type FittedLine, lineVerdicts } from "./lineVerdicts.ts";

/**
 * Makes stored lines fit the code as it is now: where that can continue them although it has changed, its structure is recorded.
 *
 * @param nested the states of the lines that go on besides, by lane.
 * @returns whether the log has changed.
 * @throws StrategyChangedError, UnknownNodeError, UnknownToolError; nothing has changed then.
 */
export async function fitLines(
  { setup, journal }: { readonly setup: PersistenceSetup; readonly journal: Journal },
  stored: StoredState,
  nested: ReadonlyMap<number, AgentState>,
): Promise<boolean> {
  const lines = await fittingLines(setup, journal, stored, nested);
  const changed = lines.filter(({ verdict }) => verdict.kind === "compatible");
  if (changed.length === 0) return false;
  await journal.store(changed.flatMap((line) => changedStructure(line.setup, line.state, line.state.lane, journal)));
  for (const line of changed) tellAdapted(line, journal.agentId);
  return true;
}

/** The lines, if the code can continue all of them. @throws as {@link fitLines} */
export async function fittingLines(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState,
  nested: ReadonlyMap<number, AgentState> = new Map(),
): Promise<readonly FittedLine[]> {
  const { agentId, sha256 } = journal;
  const lines = await lineVerdicts(setup, { ...stored, nested, sha256, readAll: () => journal.readAll() });
  for (const { verdict, agentPath } of lines)
    if (verdict.kind === "incompatible") throw new StrategyChangedError(agentId, verdict.differences, agentPath);
  return lines;
}

/** The beginning of a lane on which a line continues, with the structure of the code that it was found to fit. */
export function adaptedLane(
  records: readonly AgentRecord[],
  lane: number,
  lines: readonly FittedLine[],
  journal: Journal,
): readonly AgentRecord[] {
  for (const line of lines) tellAdapted(line, journal.agentId);
  const structure = lines.flatMap(({ setup, state, verdict }) =>
    verdict.kind === "compatible" ? changedStructure(setup, state, lane, journal) : [],
  );
  // The checkpoint is the last record of a lane's beginning, and includes those before it.
  return records.toSpliced(-1, 0, ...structure);
}

function tellAdapted({ setup, state, verdict, ...path }: FittedLine, agentId: string): void {
  if (verdict.kind !== "compatible") return;
  const { differences } = verdict;
  setup.tell({ kind: "strategy_adapted", agentId, runId: state.runId, ...eventLine(path), differences });
}
