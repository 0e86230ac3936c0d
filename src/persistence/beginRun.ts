import type { AgentState } from "../checkpoint/AgentState.ts";
import { firstVisitOf, nextVisitOf } from "../checkpoint/AgentState.ts";
import type { AgentRecord, LaneRecord, RunRecord } from "../checkpoint/records.ts";
import type { RunStart } from "../agent/RunStart.ts";
import type { Journal } from "../journal/Journal.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import { eventCheckpoint } from "./AppendedEvents.ts";
import type { CheckpointRestoredEvent } from "./PersistenceEvent.ts";
import type { PersistenceSetup } from "./PersistenceSetup.ts";
import { Recording } from "./Recording.ts";
import { restoreRun } from "./restoreRun.ts";
import { RunSession } from "./RunSession.ts";
import { leanStructure, structureRecord } from "./strategyRecord.ts";

/** A stored state with the log it was read from. */
export interface StoredState {
  readonly log: AgentLog;
  readonly state: AgentState;
}

/** The session of a new run; its opening is appended with its first checkpoint. */
export function newRun(
  setup: PersistenceSetup,
  journal: Journal,
  request: { readonly runId: string; readonly input: unknown; readonly keep: "history" | "nothing" },
  before: StoredState | undefined,
): RunSession {
  const lane = journal.nextLane++;
  const at = journal.clock.now();
  const run: RunRecord = {
    kind: "run",
    run: request.runId,
    input: journal.writer.value(request.input, "the input of the run"),
    at,
  };
  const from = before?.state.checkpoint?.version;
  const laneRecord: LaneRecord = {
    kind: "lane",
    lane,
    ...(from !== undefined && { from }),
    keep: from === undefined ? "nothing" : request.keep,
  };
  const structure = structureRecord(setup.graph, lane, journal);
  const [visitBase, visitOrdinal] = firstVisitOf(lane);
  const kept = request.keep === "history" && before ? historyOf(before) : undefined;
  const start: RunStart = {
    nodeId: "start",
    input: request.input,
    state: { ...(kept && { messages: kept }), nextMessage: journal.nextNumber },
    line: { agentId: journal.agentId, runId: request.runId, lane },
    generation: journal.generation,
    visitBase,
    visitOrdinal,
    runId: request.runId,
  };
  return new RunSession({
    journal,
    run,
    structure,
    lane,
    start,
    automatic: setup.automatic,
    recording: undefined,
    opening: [run, laneRecord, leanStructure(structure, journal)],
    createdAt: before?.log.index.createdAt ?? at,
    head: undefined,
  });
}

/** The session that goes on from a stored state: on its own lane, or on one that begins from it with `opening`. */
export function restoredRun(
  setup: PersistenceSetup,
  journal: Journal,
  { log, state }: StoredState,
  options: {
    readonly lane: number;
    readonly run: RunRecord;
    readonly opening: readonly AgentRecord[];
    readonly head?: { readonly version: number; readonly id: string };
    readonly by: CheckpointRestoredEvent["by"];
  },
): RunSession {
  const reader = log.reader(state);
  const { lane, run, opening } = options;
  const nextNumber = Math.max(journal.nextNumber, log.index.nextNumber);
  const start = restoreRun({
    agentId: journal.agentId,
    state,
    reader,
    index: log.index,
    lane,
    runId: run.run,
    generation: journal.generation,
    nextNumber,
  });
  const { checkpoint } = state;
  if (checkpoint) {
    const origin = { agentId: journal.agentId, runId: run.run };
    const shown = eventCheckpoint(checkpoint.id, checkpoint.record);
    setup.tell({ kind: "checkpoint_restored", ...origin, by: options.by, ...shown });
  }
  const head = options.head ?? (checkpoint && { version: checkpoint.version, id: checkpoint.id });
  return new RunSession({
    journal,
    run,
    lane,
    start,
    opening,
    head,
    structure: structureRecord(setup.graph, lane, journal),
    automatic: setup.automatic,
    recording: new Recording(state, reader, log.index, nextVisitOf(state)),
    ...(checkpoint && { restored: state.decisions }),
    createdAt: log.index.createdAt ?? run.at,
  });
}

function historyOf({ log, state }: StoredState) {
  const reader = log.reader(state);
  return state.history.map(({ number, message }) => ({ number, message: reader.message(message) }));
}
