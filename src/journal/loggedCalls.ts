import { withRecord, type AgentState, type RecordedCall } from "../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { ValueReader, type BlobTexts } from "../checkpoint/state/ValueReader.ts";
import type { AnswerRecord } from "../checkpoint/records/callRecords.ts";
import { callFacts, callInput } from "../checkpoint/data/toolCalls.ts";

/** A tool call on any lane of a log. */
export interface LoggedCall extends RecordedCall {
  readonly lane: number;
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  /** Whether an inverse was registered for the tool when the call was made. */
  readonly inverse: boolean;
  /** Decoded when asked for. */
  readonly input: () => unknown;
  /** Decoded when asked for; `undefined` when there is none. */
  readonly output: () => unknown;
}

/** Every tool call of a log, sorted by its end, or by its beginning if it has no end. */
export function loggedCalls(index: LogProjection, blobs: BlobTexts): readonly LoggedCall[] {
  const calls = new Map<string, RecordedCall & { readonly lane: number }>();
  const answers = new Map<string, AnswerRecord>();
  for (const [lane, records] of index.laneRecords) {
    for (const { record, order } of records) {
      if (record.kind === "answer") answers.set(`${lane}.${order}`, record);
      if (record.kind !== "intent" && record.kind !== "outcome") continue;
      const known = calls.get(record.call);
      const base: RecordedCall & { readonly lane: number } = {
        ...known,
        call: record.call,
        visit: record.visit,
        order,
        lane,
      };
      calls.set(record.call, withRecord(base, record));
    }
  }
  // Values of calls and answers refer only to blobs, so they can be read without the state of their lane.
  const state = { answers, calls, history: [] } as unknown as AgentState;
  const reader = new ValueReader(state, blobs);
  return [...calls.values()]
    .sort((a, b) => a.order - b.order)
    .map((call) => ({
      ...call,
      ...callFacts(call),
      input: () => callInput(call, state, reader),
      output: () => reader.read(call.outcome?.output),
    }));
}
