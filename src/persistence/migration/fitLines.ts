import { StrategyChangedError } from "../../errors/strategyErrors.ts";
import { eventLine } from "../../listeners/eventEmitter.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { openLineStates } from "../../checkpoint/data/openLines.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import { foldLine, foldTo } from "../../checkpoint/state/foldTo.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { changedStructure } from "../saving/strategyRecord.ts";
import { storedState, type StoredState } from "../starting/startRecorder.ts";
import { type FittedLine, lineVerdicts } from "./lineVerdicts.ts";
import { draftMigration, migrationRecords } from "./migrationRecords.ts";
import { planMigration } from "./planMigration.ts";

export interface Fitting {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  readonly signal: AbortSignal;
}

/**
 * Adapts the stored run, branches and sub-agents to the current code in one append: records compatible code, or runs
 * migrations. After an error, the agent is unchanged.
 *
 * @throws StrategyChangedError, UnknownNodeError, UnknownToolError, and the errors of `planMigration`
 */
export async function fitLines(fitting: Fitting, stored: StoredState): Promise<StoredState> {
  const { journal } = fitting;
  if (!(await adapt(fitting, stored, journal.head?.lines))) return stored;
  await journal.readHead();
  return storedState(journal) ?? stored;
}

/**
 * Migrates a run, branch or sub-agent that a rollback in a run has restarted on a lane.
 *
 * @throws the errors of {@link fitLines}
 */
export async function fitLane(fitting: Fitting, lane: number): Promise<StoredState> {
  const stored = await readLane(fitting.journal, lane);
  return (await adapt(fitting, stored)) ? readLane(fitting.journal, lane) : stored;
}

async function readLane(journal: Journal, lane: number): Promise<StoredState> {
  const log = await journal.readAll();
  const state = foldLine(log.index, lane);
  if (!state) throw new UnreadableValueError(`lane ${lane} of a line is not in the log`);
  return { log, state };
}

/** Stores the new structures and the migrations in one append. Returns `false` if no code has changed. */
async function adapt(
  { setup, journal, signal }: Fitting,
  stored: StoredState,
  nested?: ReadonlyMap<number, AgentState>,
): Promise<boolean> {
  const lines = await fittingLines(setup, journal, stored, nested);
  if (lines.every(({ verdict }) => verdict.kind === "same")) return false;
  const migrations = await planMigration(lines, stored.log, signal);
  const { uploads } = journal.writer;
  try {
    await journal.store([
      ...lines.flatMap(({ setup, state, verdict }) =>
        verdict.kind === "compatible" ? changedStructure(setup, state, state.lane, journal) : [],
      ),
      ...migrationRecords(migrations, journal),
    ]);
  } catch (error) {
    journal.writer.withdrawUploads(uploads);
    throw error;
  }
  for (const line of lines) tell(line, journal.agentId);
  return true;
}

/**
 * Checks whether the current code can continue a restarted run, branches and sub-agents. Tries migrations without
 * storing their results. `before` contains their states by earlier lane.
 *
 * @returns Whether all fit without a change.
 * @throws the errors of {@link fitLines}
 */
export async function tryLines(
  { setup, journal, signal }: Fitting,
  before: StoredState & { readonly nested: ReadonlyMap<number, AgentState> },
  records: readonly AgentRecord[],
): Promise<boolean> {
  const readAll = () => journal.readAll();
  const verdicts = await lineVerdicts(setup, { ...before, sha256: journal.sha256, readAll });
  if (verdicts.every(({ verdict }) => verdict.kind === "same")) return true;
  const log = await readAll();
  const { index } = log;
  const { generation } = journal;
  index.add({ position: index.position + 1, generation, records, id: "", checksum: "", prev: "" });
  const state = foldTo(index);
  if (!state) return true;
  const lines = await fittingLines(setup, journal, { log, state }, openLineStates(index));
  draftMigration(await planMigration(lines, log, signal), setup, { log, sha256: journal.sha256 });
  return false;
}

async function fittingLines(
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

function tell({ setup, state, verdict, code, ...path }: FittedLine, agentId: string): void {
  const at = { agentId, runId: state.runId, ...eventLine(path) };
  const { version: from = 0 } = state.structure ?? {};
  if (verdict.kind === "compatible") setup.tell({ type: "strategy_adapted", ...at, differences: verdict.differences });
  if (verdict.kind === "migrates") setup.tell({ type: "run_migrated", ...at, from, to: code.structure.version });
}
