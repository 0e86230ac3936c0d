import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { RunStateSeed } from "../../agent/state/RunState.ts";
import { type ContentPart, type Message, partsOfType, type ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { LanePlace, LaneRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import { type AgentState, firstVisitOf } from "../../checkpoint/state/AgentState.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { RecordedLine, RecorderStart } from "../saving/RecorderStart.ts";
import { RunRecorder } from "../saving/RunRecorder.ts";
import { structureRecord, structureReference } from "../saving/strategyRecord.ts";

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
