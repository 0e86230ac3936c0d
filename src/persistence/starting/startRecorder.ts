import type { LanePlace, LaneRecord, CheckpointRecord, CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { RunStart, BranchResult } from "../../agent/feature/RunRequest.ts";
import type { RunStateSeed } from "../../agent/state/RunState.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { type AgentState, firstVisitOf, nextVisitOf, refusedCalls } from "../../checkpoint/state/AgentState.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { linesTo } from "../../checkpoint/lines/lineage.ts";
import { joinedBranches } from "../../checkpoint/state/BranchChanges.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import { eventCheckpoint, eventLine } from "../../listeners/eventEmitter.ts";
import { RecordedAnswers } from "../replay/RecordedAnswers.ts";
import { LineCalls, EarlierCalls } from "../saving/LineCalls.ts";
import { Replay } from "../replay/Replay.ts";
import type { CheckpointHead } from "../saving/checkpointRecord.ts";
import { NamedCheckpoints } from "../saving/CreateCheckpointOptions.ts";
import { RunRecorder } from "../saving/RunRecorder.ts";
import type { RecordedLine, RecorderStart } from "../saving/RecorderStart.ts";
import { seedOf, storedResult } from "../../agent/feature/storedResult.ts";
import { structureRecord, structureReference } from "../saving/strategyRecord.ts";
import { type ContentPart, type Message, partsOfType, type ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";

export interface StoredState {
  readonly log: AgentLog;
  readonly state: AgentState;
}

export function storedState({ head }: Pick<Journal, "head">): StoredState | undefined {
  return head?.state && { log: head.log, state: head.state };
}

export function newRun(
  setup: PersistenceSetup,
  journal: Journal,
  {
    run,
    input,
    keep,
    opening,
  }: {
    readonly run: RunRecord;
    readonly input: unknown;
    readonly keep: "history" | "nothing";
    readonly opening: readonly AgentRecord[];
  },
  before: StoredState | undefined,
): RunRecorder {
  const lane = journal.nextLane++;
  journal.usage = undefined;
  const origin = before?.state.checkpoint;
  const laneRecord: LaneRecord =
    origin === undefined ? { kind: "lane", lane, keep: "nothing" } : { kind: "lane", lane, from: origin.version, keep };
  const structure = structureRecord(setup, lane, journal);
  const kept = keep === "history" && before ? keptHistory(before) : {};
  const start: RunStart = {
    nodeId: "start",
    input,
    state: { ...kept, numbers: journal.numbers },
    ...placeOf(journal, run, lane, firstVisitOf(lane)),
  };
  const records = [...opening, laneRecord, structureReference(structure, journal)];
  return new RunRecorder(setup, journal, run, start, { structure, opening: records, origin });
}

interface Restored {
  readonly lane: number;
  readonly run: RunRecord;
  readonly opening: readonly AgentRecord[];
  readonly head?: CheckpointHead;
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
    ...(checkpoint && { restored: state.decisions, named: NamedCheckpoints.upTo(index, checkpoint) }),
    line,
    parent,
    ...(index.lines.childrenOf(lane).length > 0 && { stored: log }),
  });
}

/** A branch or sub-agent in the log. `what` describes it in errors. */
interface StoredLine extends RecordedLine {
  readonly what: string;
  readonly log: AgentLog;
  readonly lane: number;
}

/** Returns the recorder of a branch or sub-agent that continues from the log. */
export function restoredLine(
  parent: RunRecorder,
  setup: PersistenceSetup,
  { what, log, lane, ...line }: StoredLine,
): RunRecorder {
  const state = foldLine(log.index, lane);
  if (!state) throw new UnreadableValueError(`lane ${lane} of ${what} is not in the log`);
  const { journal, run } = parent;
  return restoredRun(setup, journal, { log, state }, { lane, run, opening: [], line, parent });
}

interface NewLine extends Pick<RecorderStart<RunRecorder>, "structure" | "restored" | "calls"> {
  readonly place: LanePlace;
  readonly opening: (lane: number) => readonly AgentRecord[];
}

/** Returns the recorder of a branch or sub-agent that starts. */
export function newLine(
  parent: RunRecorder,
  setup: PersistenceSetup,
  start: RunStart,
  { place, opening, ...from }: NewLine,
): RunRecorder {
  const { journal, run } = parent;
  const line: RecordedLine = { place, lanes: [] };
  const begins = { ...start, line: { ...start.line, lane: 0 } };
  return new RunRecorder(setup, journal, run, begins, {
    ...from,
    opening: [],
    nest: (begun) => {
      // The log contains lanes in ascending order, so the caller must append the lane's records in the same turn.
      const lane = journal.nextLane++;
      line.lanes.push(lane);
      begun.line = { ...begun.line, lane };
      return [lane, opening(lane)];
    },
    line,
    parent,
  });
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

function tellRestored(
  setup: PersistenceSetup,
  { agentId }: Journal,
  { log: { index }, state: { checkpoint } }: StoredState,
  { run, by }: Restored,
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

export function placeOf(
  { agentId, generation }: Journal,
  { run: runId }: RunRecord,
  lane: number,
  [base, ordinal]: Visit,
) {
  return { line: { agentId, runId, lane }, generation, visitBase: base, visitOrdinal: ordinal, runId };
}

function keptHistory({ log, state }: StoredState): Pick<RunStateSeed, "messages" | "added"> {
  const reader = log.reader(state);
  const messages = reader.history();
  const shown = messages.map(({ message }) => message);
  const closing = missingToolResults(shown, state.calls, reader, reader.read(state.checkpoint?.record.input));
  return { messages, ...(closing && { added: [closing] }) };
}

type CallPart = Extract<ContentPart, { type: "tool-call" }>;
type ResultPart = Extract<ContentPart, { type: "tool-result" }>;

const noResult = "There is no result: the run that asked for this call was ended.";

/** Returns results for the last calls without one, because models need them. `input` can contain some results. */
export function missingToolResults(
  messages: readonly Message[],
  calls: AgentState["calls"],
  reader: ValueReader,
  input?: unknown,
): ToolMessage | undefined {
  const asked = messages.findLastIndex(({ role }) => role !== "tool");
  const results = messages.slice(asked + 1).flatMap((message) => partsOfType(message, "tool-result"));
  const answered = new Set(results.map(({ toolCallId }) => toolCallId));
  const open = partsOfType(messages[asked], "tool-call").filter((part) => !answered.has(part.toolCallId));
  if (open.length === 0) return undefined;
  const next = new Map(partsOfType(messageOf(input), "tool-result").map((part) => [part.toolCallId, part]));
  return { role: "tool", content: open.map((part) => next.get(part.toolCallId) ?? resultOf(part, calls, reader)) };
}

function messageOf(input: unknown): Message | undefined {
  const { role, content } = Object(input) as Partial<Message>;
  return role === "tool" && Array.isArray(content) ? (input as Message) : undefined;
}

function resultOf(call: CallPart, calls: AgentState["calls"], reader: ValueReader): ResultPart {
  const { toolCallId, providerToolCallId, toolName } = call;
  const part = withoutUndefined({ type: "tool-result", toolCallId, providerToolCallId, toolName } as const);
  const outcome = calls.get(toolCallId)?.outcome;
  if (outcome?.error) return { ...part, isError: true, output: outcome.error.message };
  if (outcome?.output !== undefined) return { ...part, output: reader.read(outcome.output) };
  return { ...part, isError: true, output: noResult };
}
