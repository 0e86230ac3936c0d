import { seedOf, storedResult } from "../../agent/feature/storedResult.ts";
import type { BranchResult, RunStart } from "../../agent/feature/RunRequest.ts";
import type { RunState, RunStateSeed } from "../../agent/state/RunState.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { linesTo, placesUpTo } from "../../checkpoint/lines/lineage.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { CheckpointPoint, CheckpointRecord, LanePlace } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { type AgentState, nextVisitOf, refusedCalls } from "../../checkpoint/state/AgentState.ts";
import { BranchChanges, joinedBranches } from "../../checkpoint/state/BranchChanges.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { eventCheckpoint, eventLine } from "../../listeners/eventEmitter.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { EarlierCalls } from "../replay/EarlierCalls.ts";
import { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import { Replay } from "../replay/Replay.ts";
import type { CheckpointHead } from "../saving/checkpointRecord.ts";
import { NamedCheckpoints } from "../saving/CreateCheckpointOptions.ts";
import { LineCalls } from "../saving/LineCalls.ts";
import type { RecordedLine, StoredLines } from "../saving/RecorderStart.ts";
import { RunRecorder } from "../saving/RunRecorder.ts";
import { structureRecord } from "../saving/strategyRecord.ts";
import { placeOf, type StoredState } from "./startRecorder.ts";

interface Restored {
  readonly lane: number;
  readonly run: RunRecord;
  readonly opening: readonly AgentRecord[];
  readonly head?: CheckpointHead;
  /** Omitted for a branch or sub-agent that continues within its run, whose recorder keeps the index in memory. */
  readonly by?: "resume" | "branch" | "rollback";
  readonly line?: RecordedLine | undefined;
  readonly parent?: RunRecorder | undefined;
}

/** Returns the recorder of a run that continues from a stored state, on its lane or on a new one with `opening`. */
export function restoredRun(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState,
  options: Restored,
): RunRecorder {
  const { log, state } = stored;
  const { index } = log;
  const { checkpoint } = state;
  const { lane, run, opening, head = checkpoint, line, parent } = options;
  const reader = log.reader(state);
  const from = nextVisitOf(state);
  const earlier = new EarlierCalls(journal, index, state, lane);
  const named = checkpoint ? namedUpTo(index, checkpoint) : [];
  const start = restoredStart(journal, stored, { ...options, earlier });
  tellRestored(setup, journal, stored, options);
  return new RunRecorder(setup, journal, run, start, {
    structure: structureRecord(setup, lane, journal),
    opening,
    head: head && { version: head.version, id: head.id },
    openFork: index.lines.openForkOn(lane),
    recording: new Replay(state, reader, index, from),
    calls: new LineCalls(earlier),
    replies: new RecordedAnswers(state, reader, journal.sha256, index.statusState),
    ...(checkpoint && { restored: state.decisions, named: new NamedCheckpoints(options.by ? [...named] : named) }),
    line,
    parent,
    ...(index.lines.childrenOf(lane).length > 0 && { stored: new LoggedLines(log) }),
  });
}

/**
 * Yields the checkpoints in the history of a checkpoint that `createCheckpoint` made. The search of the index starts with
 * the first of them, because a resume can restore many branches that make no checkpoint.
 */
function* namedUpTo(index: LogProjection, head: CheckpointPoint): Generator<CheckpointPoint> {
  const isOnWay = placesUpTo(index, head);
  // Omits checkpoints of sub-agents whose calls a rollback abandoned before the calls ended.
  const counts = (lane: number): boolean =>
    [...index.lines.around(lane)].every(
      ({ place, closed = Infinity }) =>
        "fork" in place || isOnWay(place.parent, closed) || !index.closed.has(place.call),
    );
  for (const point of index.askedFor)
    if (point.runId === head.runId && isOnWay(point.record.lane, point.order) && counts(point.record.lane)) yield point;
}

/** The branches and sub-agents in the log of a restored run. */
class LoggedLines implements StoredLines<RunRecorder> {
  readonly #log: AgentLog;

  constructor(log: AgentLog) {
    this.#log = log;
  }

  branchesOf(fork: number): readonly LanePlace[] {
    return this.#log.index.lines.branchesOf(fork).map(({ place }) => place);
  }

  branch(parent: RunRecorder, place: LanePlace, state: RunState) {
    const log = this.#log;
    const line = log.index.lines.lineOf(place);
    if (!line) return undefined;
    const branch = new BranchChanges(log.index, line);
    const result = storedResult((slot) => log.readValue(slot), branch, state);
    const lanes = [...branch.lanes];
    if (result) return { lanes, result };
    const recorder = this.#restored(parent, parent.setup, "a branch", line.lane, { place, lanes });
    recorder.newSettings = parent.newSettings;
    return { recorder };
  }

  agent(parent: RunRecorder, setup: PersistenceSetup, place: LanePlace) {
    const { index } = this.#log;
    const line = index.lines.lineOf(place);
    if (!line) return undefined;
    const { lane } = line;
    const { record, order } = index.latestOf(lane) ?? {};
    if (record?.ended) return { output: this.#log.readValue(lineValue(index, lane, record.input, order)) };
    const lanes = line.lanes.map(([each]) => each);
    return { recorder: this.#restored(parent, setup, "an agent", lane, { place, lanes }) };
  }

  /** @param what - describes the line in errors. */
  #restored(parent: RunRecorder, setup: PersistenceSetup, what: string, lane: number, line: RecordedLine): RunRecorder {
    const log = this.#log;
    const state = foldLine(log.index, lane);
    if (!state) throw new UnreadableValueError(`lane ${lane} of ${what} is not in the log`);
    const { journal, run } = parent;
    return restoredRun(setup, journal, { log, state }, { lane, run, opening: [], line, parent });
  }
}

function restoredStart(
  journal: Journal,
  { log, state }: StoredState,
  restored: Restored & { readonly earlier: EarlierCalls },
): RunStart {
  const { lane, run, earlier } = restored;
  const { index } = log;
  const { checkpoint } = state;
  const reader = log.reader(state);
  const refused = refusedCalls(state);
  const { node, input, unresolved }: Pick<CheckpointRecord, "node" | "input" | "unresolved"> = checkpoint?.record ?? {
    node: "start",
    input: state.run?.input,
  };
  const seed = seedOf(state, reader, journal.numbers);
  return {
    nodeId: node,
    input: reader.read(input),
    ...(unresolved && { unresolved: true }),
    state: seed,
    ...(checkpoint && joinedAt(checkpoint, { log, seed, journal })),
    ...placeOf(journal, run, lane, nextVisitOf(state)),
    ...withoutUndefined({ usage: index.usageOf(run.run) }),
    isRecordedCall: (id) => earlier.calls.has(id),
    findCalls: (message) => earlier.find(message),
    isRefusedCall: (id) => refused.has(id),
    ...(earlier.calls.size > 0 && { recordedOn: recordedOn(journal, index, state, lane) }),
  };
}

/** Returns the other lanes on which the next node has already started. */
function recordedOn(
  { agentId }: Journal,
  index: LogProjection,
  state: AgentState,
  lane: number,
): NonNullable<RunStart["recordedOn"]> {
  const others = linesTo(index, agentId, state.lane).filter((line) => line.lane !== lane);
  return others.map((line) => {
    const [visitBase] = nextVisitOf({ checkpoint: state.checkpoint, lane: line.lane });
    return { line, visitBase };
  });
}

export function tellRestored(
  setup: PersistenceSetup,
  { agentId }: Journal,
  { log: { index }, state: { checkpoint } }: StoredState,
  { run, by }: Pick<Restored, "run" | "by">,
): void {
  if (!checkpoint || !by) return;
  const shown = eventCheckpoint(checkpoint.id, checkpoint.record);
  const at = eventLine(linePath(index, checkpoint.record.lane));
  setup.tell({ type: "checkpoint_restored", agentId, runId: run.run, ...at, by, ...shown });
}

function joinedAt(
  checkpoint: CheckpointPoint,
  { log, seed, journal }: { readonly log: AgentLog; readonly seed: RunStateSeed; readonly journal: Journal },
): Pick<RunStart, "joined"> {
  const branches = joinedBranches(log.index, checkpoint);
  if (!branches) return {};
  const { settings = { model: "", tools: [] }, requirements = {} } = seed;
  const joined = new Map<string, BranchResult>();
  for (const [key, branch] of branches) {
    const result = storedResult((slot) => log.readValue(slot), branch, { settings, requirements });
    if (!result) continue;
    journal.writer.noteJoined(branch.lanes, result.added);
    joined.set(key, result);
  }
  return { joined };
}
