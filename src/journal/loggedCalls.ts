import { addToGroup } from "../internal/addToGroup.ts";
import { linePath } from "../checkpoint/data/linePath.ts";
import { emptyState, type RecordedCall } from "../checkpoint/state/AgentState.ts";
import { callsOf } from "../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { ValueReader, type BlobTexts } from "../checkpoint/state/ValueReader.ts";
import type { AnswerRecord } from "../checkpoint/records/callRecords.ts";
import { RequestedCalls, callFacts } from "../checkpoint/data/RequestedCalls.ts";
import { originOf } from "../checkpoint/records/lineRecords.ts";

export interface LoggedCall extends RecordedCall, ReturnType<typeof callFacts> {
  readonly lane: number;
  /** The agent that made the call, if this agent is a fork of it. `undefined` for calls of this agent. */
  readonly owner: string | undefined;
  /** The names of the tools from this agent down to the sub-agent that made the call. */
  readonly agentPath: readonly string[];
  /** The version of the strategy that made the call. */
  readonly version: number;
  readonly input: () => unknown;
  /** Decodes the output. Returns `undefined` if no output is recorded. @throws if the output is unreadable. */
  readonly output: () => unknown;
}

/** Returns every tool call of a log, sorted by its outcome, or by its start if it has no outcome. */
export function loggedCalls(index: LogProjection, blobs: BlobTexts): readonly LoggedCall[] {
  // Values of calls and responses refer only to blobs, so that they can be read without the state of a lane.
  const reader = new ValueReader(emptyState, blobs);
  const requested = new RequestedCalls(answersIn(index), reader);
  const paths = new Map<number, readonly string[]>();
  const pathOf = (lane: number): readonly string[] => {
    const path = paths.get(lane) ?? linePath(index, lane).agentPath;
    paths.set(lane, path);
    return path;
  };
  const versionAt = codeVersions(index);
  return callsOf(index)
    .toSorted((a, b) => a.order - b.order)
    .map((call) => ({
      ...call,
      ...callFacts(call),
      owner: index.owners.get(call.call),
      agentPath: pathOf(call.lane),
      version: versionAt(call.named.lane, call.named.order),
      input: () => requested.inputOf(call),
      output: () => reader.read(call.outcome?.output),
    }));
}

function answersIn(index: LogProjection): readonly { readonly record: AnswerRecord; readonly order: number }[] {
  const answers = [...index.laneRecords.values()].flatMap((records) =>
    records.flatMap(({ record, order }) => (record.kind === "answer" ? [{ record, order }] : [])),
  );
  return answers.sort((a, b) => a.order - b.order);
}

export function read(value: () => unknown): { readonly value?: unknown; readonly unreadable?: unknown } {
  try {
    return { value: value() };
  } catch (unreadable) {
    return { unreadable };
  }
}

/** Returns a function that finds the strategy version at a place of the log. */
function codeVersions(index: LogProjection): (lane: number, order: number) => number {
  const { base, lanes, checkpoints } = index;
  const changes = new Map<number, { readonly order: number; readonly version: number }[]>();
  for (const [lane, records] of index.laneRecords)
    for (const { record, order } of records) {
      if (record.kind === "structure") addToGroup(changes, lane, { order, version: record.version ?? 0 });
    }
  return (lane, order) => {
    // In a valid log, a lane starts from a lower lane. In a forged log, this check prevents an endless loop.
    for (let at = { lane, order }, before = Infinity; at.lane < before;) {
      const change = changes.get(at.lane)?.findLast((each) => each.order <= at.order);
      if (change) return change.version;
      if (base?.state.lane === at.lane) return base.state.structure?.version ?? 0;
      const begun = lanes.get(at.lane)?.record;
      const origin = begun && checkpoints.get(originOf(begun) ?? -1);
      if (!origin) return 0;
      before = at.lane;
      at = { lane: origin.record.lane, order: origin.order };
    }
    return 0;
  };
}
