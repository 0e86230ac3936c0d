import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { TraceCall, TraceVisit, TraceWait } from "../trace/RunTrace.ts";
import type {
  ComparedCall,
  ChangedPart,
  ItemChange,
  ComparedStep,
  StepSummary,
  ValueDifference,
} from "./RunComparison.ts";
import { canonicalText } from "../../checkpoint/values/isSameValue.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { tokensOf } from "../../timeline/options/TimelineOptions.ts";
import { diffArrays } from "diff";

interface IndexedVisit {
  readonly index: number;
  readonly visit: TraceVisit;
  /** The compared parts of the visit as text. */
  readonly content: string;
}

/** Aligns and compares the node executions of two runs. */
export function compareSteps(before: readonly TraceVisit[], after: readonly TraceVisit[]): readonly ComparedStep[] {
  const keys = [({ content }: IndexedVisit) => content, ({ visit }: IndexedVisit) => placeOf(visit)];
  return aligned(before.map(indexed), after.map(indexed), keys).map(comparedStep);
}

function indexed(visit: TraceVisit, index: number): IndexedVisit {
  const { state, output, calls, waits } = visit;
  const messages = [messagesOf(visit), removedOf(visit)];
  const compared = [placeOf(visit), state, output, messages, calls.map(callContent), waits.map(waitContent)];
  return { index, visit, content: comparableText(compared) };
}

function placeOf({ node, branch = "", agentPath = [] }: TraceVisit): string {
  return JSON.stringify([agentPath, branch, node]);
}

function callContent({ tool, input, state, output, error }: TraceCall): unknown {
  return [tool, exactText(input), state, output, error];
}

/** Leaves out the time in the prompt of a timer, and the number of a received event. */
function waitContent({ prompt, answer, ...wait }: TraceWait): unknown {
  if (wait.kind === "timer") return wait;
  const isEvent = wait.kind === "event" && answer !== undefined;
  return { ...wait, prompt, answer: isEvent ? (Object(answer) as { readonly payload?: unknown }).payload : answer };
}

/** Returns the new messages, and the responses that the node did not add to the history. */
function messagesOf({ messages, requests }: typeof nothing): readonly unknown[] {
  const added = messages.added.map(({ message }) => message);
  const known = new Set(added.map((message) => JSON.stringify(message)));
  return [...added, ...requests.flatMap(({ response }) => (known.has(JSON.stringify(response)) ? [] : [response]))];
}

/** Returns the count of removed messages, because the numbers of messages differ between runs of the same code. */
function removedOf({ messages }: typeof nothing): number {
  return messages.removed.reduce((sum, [first, last]) => sum + last - first + 1, 0);
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
    removedMessages: changedPart(removedOf(before), removedOf(after)),
    waits: itemChanges(before.waits, after.waits, waitContent),
  };
}

function changeOf(before: unknown, after: unknown, isSame: boolean): ComparedStep["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  return isSame ? "same" : "changed";
}

function summaryOf({ index, visit }: IndexedVisit): StepSummary {
  return withoutUndefined({ index, durationMs: visit.durationMs, totalTokens: tokensOf(visit.requests) });
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
    ({ tool, input }: TraceCall) => exactText([tool, input]),
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

function itemChanges<Item>(
  before: readonly Item[],
  after: readonly Item[],
  contentOf: (item: Item) => unknown = (item) => item,
): readonly ItemChange<Item>[] {
  return aligned(before, after, [(item) => comparableText(contentOf(item))]).flatMap(
    ([old, current]): readonly ItemChange<Item>[] => {
      if (old === undefined) return current === undefined ? [] : [{ change: "added", item: current }];
      return current === undefined ? [{ change: "removed", item: old }] : [];
    },
  );
}

/** The keys that every message part of a type has. Other objects with this type are not parts. */
const partKeys: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["text", ["text"]],
  ["reasoning", ["text"]],
  ["file", ["data", "mediaType"]],
  ["custom", ["kind"]],
  ["tool-call", ["toolName", "toolCallId"]],
  ["tool-result", ["toolName", "toolCallId"]],
]);

/** The keys of calls and results in messages that differ between runs of the same code. */
const idKeys: readonly string[] = ["toolCallId", "providerToolCallId"];

/** Returns JSON as text that is equal for equal values, without ids in messages. @throws InvalidInputError */
function comparableText(value: unknown): string {
  return exactText(withoutIds(value));
}

/** Returns JSON as text that is equal for equal values. @throws InvalidInputError */
function exactText(value: unknown): string {
  const text = canonicalText(value);
  if (text !== undefined) return text;
  throw new InvalidInputError("runs of compareRuns()", [{ path: "", expected: "expected JSON values" }]);
}

function withoutIds(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutIds);
  const keys = partKeys.get((value as { readonly type?: unknown }).type);
  const isPart = keys?.every((key) => Object.hasOwn(value, key)) === true;
  const ignored = isPart ? ["providerOptions", ...(keys.includes("toolCallId") ? idKeys : [])] : [];
  const entries = Object.entries(value).filter(([key]) => !ignored.includes(key));
  return Object.fromEntries(entries.map(([key, item]) => [key, isPart && key === "input" ? item : withoutIds(item)]));
}

/** An item of each list that belong together. `undefined` in place of an item that a list does not have. */
type AlignedPair<Item> = readonly [before: Item | undefined, after: Item | undefined];

/** The maximum number of different items in an alignment. The time grows with the square of this number. */
const mostEdits = 1_000;

/**
 * Aligns two lists by the first kind of key, and the items between by the next kind, from strict to loose. Very
 * different lists use the next kind at once, and finally the index.
 */
function aligned<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keys: readonly ((item: Item) => string)[],
): readonly AlignedPair<Item>[] {
  const [key, ...looser] = keys;
  if (!key || before.length === 0 || after.length === 0)
    return [...before.map((item) => [item, undefined] as const), ...after.map((item) => [undefined, item] as const)];
  const pairs: AlignedPair<Item>[] = [];
  let [old, current]: [Item[], Item[]] = [[], []];
  let [from, to] = [0, 0];
  const close = () => {
    pairs.push(...aligned(old, current, looser));
    [old, current] = [[], []];
  };
  const changes = diffArrays(before.map(key), after.map(key), { maxEditLength: mostEdits });
  if (!changes) return looser.length > 0 ? aligned(before, after, looser) : byIndex(before, after, key);
  for (const { count, added, removed } of changes) {
    if (added) current.push(...after.slice(to, (to += count)));
    else if (removed) old.push(...before.slice(from, (from += count)));
    else {
      close();
      for (let at = 0; at < count; at++) pairs.push([before[from++], after[to++]]);
    }
  }
  close();
  return pairs;
}

function byIndex<Item>(
  before: readonly Item[],
  after: readonly Item[],
  key: (item: Item) => string,
): readonly AlignedPair<Item>[] {
  const pairs: AlignedPair<Item>[] = [];
  for (let at = 0; at < Math.max(before.length, after.length); at++) {
    const [old, current] = [before[at], after[at]];
    if (old !== undefined && current !== undefined && key(old) === key(current)) pairs.push([old, current]);
    else {
      if (old !== undefined) pairs.push([old, undefined]);
      if (current !== undefined) pairs.push([undefined, current]);
    }
  }
  return pairs;
}

/** The maximum number of differences. Two values without a common part differ as a whole. */
const most = 200;

/** Returns the smallest parts in which two JSON values differ, in the order of their keys. */
function valueDifferences(before: unknown, after: unknown): readonly ValueDifference[] {
  const found: ValueDifference[] = [];
  addDifferences(found, [], before, after);
  return found;
}

function addDifferences(found: ValueDifference[], path: ValueDifference["path"], before: unknown, after: unknown) {
  if (Object.is(before, after) || found.length >= most) return;
  const keys = commonKeys(before, after);
  if (!keys) {
    found.push({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) });
    return;
  }
  for (const key of keys) addDifferences(found, [...path, key], itemAt(before, key), itemAt(after, key));
}

/**
 * Returns the keys of two lists or of two objects. `undefined` for other pairs of values, which have no common parts.
 */
function commonKeys(before: unknown, after: unknown): readonly (string | number)[] | undefined {
  if (Array.isArray(before) && Array.isArray(after))
    return Array.from({ length: Math.max(before.length, after.length) }, (_item, index) => index);
  if (!isFields(before) || !isFields(after)) return undefined;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
}

function itemAt(value: unknown, key: string | number): unknown {
  return Object.hasOwn(value as object, key) ? (value as Readonly<Record<string | number, unknown>>)[key] : undefined;
}

function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
