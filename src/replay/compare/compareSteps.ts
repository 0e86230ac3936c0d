import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { TraceCall, TraceVisit } from "../trace/RunTrace.ts";
import { type AlignedPair, aligned } from "./aligned.ts";
import { comparableText } from "./comparableText.ts";
import type { ComparedCall, ChangedPart, ItemChange, ComparedStep, StepSummary } from "./RunComparison.ts";
import { valueDifferences } from "./valueDifferences.ts";

interface IndexedVisit {
  readonly index: number;
  readonly visit: TraceVisit;
  /** Everything that counts in a comparison. */
  readonly content: string;
}

/** Aligns and compares the node executions of two runs. */
export function compareSteps(before: readonly TraceVisit[], after: readonly TraceVisit[]): readonly ComparedStep[] {
  const keys = [({ content }: IndexedVisit) => content, ({ visit }: IndexedVisit) => placeOf(visit)];
  return aligned(before.map(indexed), after.map(indexed), keys).map(comparedStep);
}

function indexed(visit: TraceVisit, index: number): IndexedVisit {
  const { state, output, calls, waits } = visit;
  const compared = [placeOf(visit), state, output, messagesOf(visit), calls.map(callContent), waits];
  return { index, visit, content: comparableText(compared) };
}

function placeOf({ node, branch = "", agentPath = [] }: TraceVisit): string {
  return JSON.stringify([agentPath, branch, node]);
}

function callContent({ tool, input, state, output, error }: TraceCall): unknown {
  return [tool, input, state, output, error];
}

/** Returns the new messages, and the responses that the node did not add to the history. */
function messagesOf({ messages, requests }: typeof nothing): readonly unknown[] {
  const added = messages.added.map(({ message }) => message);
  const known = new Set(added.map((message) => JSON.stringify(message)));
  return [...added, ...requests.flatMap(({ response }) => (known.has(JSON.stringify(response)) ? [] : [response]))];
}

/** The side of a step that one run does not have. */
const nothing: Pick<TraceVisit, "output" | "calls" | "waits" | "messages" | "requests"> = {
  calls: [],
  waits: [],
  messages: { added: [], removed: [] },
  requests: [],
};

function comparedStep([before, after]: AlignedPair<IndexedVisit>): ComparedStep {
  const { node, branch, agentPath } = ((before ?? after) as IndexedVisit).visit;
  const isSame = before?.content === after?.content;
  return withoutUndefined({
    change: changeOf(before, after, isSame),
    node,
    branch,
    agentPath,
    before: before && summaryOf(before),
    after: after && summaryOf(after),
    ...(isSame ? { calls: [], messages: [], waits: [] } : differences(before?.visit, after?.visit)),
  });
}

function differences(before: typeof nothing = nothing, after: typeof nothing = nothing) {
  return {
    output: changedPart(before.output, after.output),
    calls: comparedCalls(before.calls, after.calls),
    messages: itemChanges(messagesOf(before), messagesOf(after)),
    waits: itemChanges(before.waits, after.waits),
  };
}

function changeOf(before: unknown, after: unknown, isSame: boolean): ComparedStep["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  return isSame ? "same" : "changed";
}

function summaryOf({ index, visit }: IndexedVisit): StepSummary {
  const counts = visit.requests.flatMap(({ usage }) => usage?.totalTokens ?? []);
  const totalTokens = counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
  return withoutUndefined({ index, durationMs: visit.durationMs, totalTokens });
}

/** Returns two values if they differ. */
export function changedPart<Value>(
  before: Value | undefined,
  after: Value | undefined,
): ChangedPart<Value> | undefined {
  if (comparableText(before) === comparableText(after)) return undefined;
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

function comparedCalls(before: readonly TraceCall[], after: readonly TraceCall[]): readonly ComparedCall[] {
  const keys = [
    (call: TraceCall) => comparableText(callContent(call)),
    ({ tool, input }: TraceCall) => comparableText([tool, input]),
    ({ tool }: TraceCall) => tool,
  ];
  return aligned(before, after, keys).flatMap(([old, current]) => comparedCall(old, current) ?? []);
}

function comparedCall(before: TraceCall | undefined, after: TraceCall | undefined): ComparedCall | undefined {
  const { tool } = (before ?? after) as TraceCall;
  if (!before || !after) {
    const side = before ? { change: "removed" as const, before } : { change: "added" as const };
    return { tool, ...side, ...(after && { after }), input: [], isOutcomeChanged: false };
  }
  if (comparableText(callContent(before)) === comparableText(callContent(after))) return undefined;
  const outcomes = [before, after].map(({ state, output, error }) => comparableText([state, output, error]));
  const isOutcomeChanged = outcomes[0] !== outcomes[1];
  return {
    change: "changed",
    tool,
    before,
    after,
    input: valueDifferences(before.input, after.input),
    isOutcomeChanged,
  };
}

function itemChanges<Item>(before: readonly Item[], after: readonly Item[]): readonly ItemChange<Item>[] {
  return aligned(before, after, [comparableText]).flatMap(([old, current]): readonly ItemChange<Item>[] => {
    if (old === undefined) return current === undefined ? [] : [{ change: "added", item: current }];
    return current === undefined ? [{ change: "removed", item: old }] : [];
  });
}
