import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { RecordedRequirements, RunStateSeed } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { LaneRecord, RequirementsRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { type AgentState, firstVisitOf, nextVisitOf } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { eventCheckpoint } from "../events/eventEmitter.ts";
import type { CheckpointRestoredEvent } from "../events/PersistenceEvent.ts";
import { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import { Replay } from "../replay/Replay.ts";
import { NamedCheckpoints } from "./NamedCheckpoints.ts";
import { RunRecorder } from "./RunRecorder.ts";
import { missingToolResults } from "./missingToolResults.ts";
import { structureRecord, structureReference } from "./strategyRecord.ts";

/** A stored state with the log it was read from. */
export interface StoredState {
  readonly log: AgentLog;
  readonly state: AgentState;
}

/** A run that begins. */
export interface NewRun {
  readonly run: RunRecord;
  /** The value of its input. */
  readonly input: unknown;
  /** What it keeps of the run before. */
  readonly keep: "history" | "nothing";
  /** Records that stand before its line. */
  readonly opening: readonly AgentRecord[];
}

/** The recorder of a new run; its opening is appended with its first checkpoint. */
export function newRun(
  setup: PersistenceSetup,
  journal: Journal,
  { run, input, keep, opening }: NewRun,
  before: StoredState | undefined,
): RunRecorder {
  const lane = journal.nextLane++;
  const runId = run.run;
  const from = before?.state.checkpoint?.version;
  const laneRecord: LaneRecord = {
    kind: "lane",
    lane,
    ...(from !== undefined && { from }),
    keep: from === undefined ? "nothing" : keep,
  };
  const structure = structureRecord(setup.graph, lane, journal);
  const [visitBase, visitOrdinal] = firstVisitOf(lane);
  const kept = keep === "history" && before ? keptHistory(before) : {};
  const start: RunStart = {
    nodeId: "start",
    input,
    state: { ...kept, nextMessage: journal.nextNumber },
    line: { agentId: journal.agentId, runId, lane },
    generation: journal.generation,
    visitBase,
    visitOrdinal,
    runId,
  };
  return new RunRecorder({
    setup,
    journal,
    run,
    structure,
    lane,
    start,
    recording: undefined,
    opening: [...opening, laneRecord, structureReference(structure, journal)],
    head: undefined,
  });
}

/** The recorder that goes on from a stored state: on its own lane, or on one that begins from it with `opening`. */
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
): RunRecorder {
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
  return new RunRecorder({
    setup,
    journal,
    run,
    lane,
    start,
    opening,
    head,
    structure: structureRecord(setup.graph, lane, journal),
    recording: new Replay(state, reader, log.index, nextVisitOf(state)),
    replies: new RecordedAnswers(
      state,
      reader,
      log.index.statusState.current?.record?.error?.code !== "request_expired",
    ),
    ...(checkpoint && { restored: state.decisions, named: NamedCheckpoints.upTo(log.index, checkpoint) }),
  });
}

/** The messages of the run before, and what closes them where it was ended in the middle. */
function keptHistory({ log, state }: StoredState): Pick<RunStateSeed, "messages" | "added"> {
  const reader = log.reader(state);
  const messages = state.history.map(({ number, message }) => ({ number, message: reader.message(message) }));
  const closing = missingToolResults(
    messages.map(({ message }) => message),
    state.calls,
    reader,
  );
  return { messages, ...(closing && { added: [closing] }) };
}

export interface RestoreOptions {
  readonly agentId: string;
  readonly state: AgentState;
  readonly reader: ValueReader;
  readonly index: LogProjection;
  /** The lane that the run goes on in: the state's own, or one that begins from it. */
  readonly lane: number;
  readonly runId: string;
  readonly generation: number;
  readonly nextNumber: number;
}

/** A stored state as the start of a run: what runs next, with everything it knew. */
export function restoreRun({
  agentId,
  state,
  reader,
  index,
  lane,
  runId,
  generation,
  nextNumber,
}: RestoreOptions): RunStart {
  const record = state.checkpoint?.record;
  const [visitBase, visitOrdinal] = nextVisitOf(state);
  const recorded = new Set([...state.calls.values()].filter((call) => index.counts(call)).map(({ call }) => call));
  return {
    nodeId: record?.node ?? "start",
    input: reader.read(record ? record.input : state.run?.input),
    ...(record?.unresolved && { unresolved: true }),
    state: seedOf(state, reader, nextNumber),
    line: { agentId, runId, lane },
    generation,
    visitBase,
    visitOrdinal,
    runId,
    isRecordedCall: (id) => recorded.has(id),
  };
}

function seedOf(state: AgentState, reader: ValueReader, nextMessage: number): RunStateSeed {
  const { checkpoint, settings, requirements, decisions } = state;
  const messages = state.history.map(({ number, message }) => ({ number, message: reader.read(message) as Message }));
  const { progress, summary } = checkpoint?.record ?? {};
  return {
    // Without a checkpoint the run begins, with a fresh history unless it continues another's.
    ...((checkpoint || messages.length > 0) && { messages }),
    nextMessage,
    storage: new Map([...state.storage].map(([key, slot]) => [key, reader.read(slot)])),
    ...(settings && {
      settings: freezeInPlace({
        model: settings.model,
        tools: settings.tools,
        ...(settings.parameters !== undefined && {
          parameters: reader.read(settings.parameters) as Record<string, unknown>,
        }),
      }),
    }),
    iteration: checkpoint?.record.iteration ?? 0,
    ...(progress !== undefined && { progress }),
    ...(summary !== undefined && { progressSummary: summary }),
    decisions: decisions.map(({ decision, reason }) => ({ decision, ...(reason !== undefined && { reason }) })),
    ...(requirements && { requirements: requirementsOf(requirements) }),
  };
}

function requirementsOf({ files, environment, directory, hashes }: RequirementsRecord): RecordedRequirements {
  return {
    files,
    environment,
    ...(directory !== undefined && { workingDirectory: directory }),
    ...(hashes && { hashes }),
  };
}
