import { contentKey, type MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { renamed, renamedTools } from "../../checkpoint/values/renamed.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import {
  type CallChanges,
  type HistoryResult,
  type HistoryStep,
  type Slot,
  type StateChanges,
  storageSlot,
} from "../state/CallChanges.ts";
import type { RunSettings, RunState } from "../state/RunState.ts";
import { enclosingCalls, executionOf } from "./ContextBinding.ts";

/**
 * Makes the recorded changes of a call again, because a replay returns its output without running the tool.
 *
 * @param context The context of the code that makes the call.
 * @param renames The renames of tools since the call.
 * @throws UnreadableValueError if the stored form is unknown
 */
export function repeatChanges(
  context: AgentContext,
  call: string,
  stored: unknown,
  renames: OutcomeRecord["renames"] = [],
): void {
  const execution = executionOf(context);
  const changes = execution.changesByCalls();
  try {
    repeat(execution.state, changes, [call, ...enclosingCalls(context)], nowNamed(stored as StateChanges, renames));
  } catch {
    throw new UnreadableValueError("the changes of a tool call have an unknown form");
  }
  changes.take(call);
}

function nowNamed(
  { settings, history, ...others }: StateChanges,
  renames: NonNullable<OutcomeRecord["renames"]>,
): StateChanges {
  const tools = settings?.tools?.map((name) => renamed(name, renames));
  return withoutUndefined({
    ...others,
    settings: tools ? { ...settings, tools } : settings,
    history: history?.map((step) => mapped(step, (part) => renamedTools(part, renames))),
  });
}

/** Changes the items of each list in a step: messages and ranges. */
function mapped(step: HistoryStep, change: (part: unknown) => unknown): HistoryStep {
  const lists = Object.entries(step).map(([key, list]) => [key, Array.isArray(list) ? list.map(change) : list]);
  return Object.fromEntries(lists) as HistoryStep;
}

function repeat(state: RunState, changes: CallChanges, calls: readonly string[], made: StateChanges): void {
  const { storage = {}, deleted = [], settings, progress, history = [], decisions = [], requirements = [] } = made;
  const set = Object.entries(storage).map(([key, value]) => [key, { value }] as const);
  state.storage.replace(new Map([...set, ...deleted.map((key) => [key, undefined] as const)]));
  if (settings) state.configure(settings);
  if (progress) state.setProgress(progress.percent, progress.summary);
  for (const decision of decisions) state.recordDecision(decision);
  for (const needs of requirements) state.require(needs);
  changes.note(calls, { slots: slotsOf(made), decisions, requirements });
  for (const step of history) changes.noteHistory(calls, () => repeatStep(state.history, step, changes));
}

function slotsOf({ storage = {}, deleted = [], settings = {}, progress }: StateChanges): readonly Slot[] {
  const fields = Object.keys(settings) as (keyof RunSettings)[];
  return [
    ...[...Object.keys(storage), ...deleted].map(storageSlot),
    ...fields,
    ...(progress ? ["progress" as const] : []),
  ];
}

/** The recorded places of repeated messages, because concurrent calls can end in another order than they appended. */
const places = new WeakMap<Message, number>();
/** By execution of a node: the contents of the messages that repeated steps added or removed. */
const repeated = new WeakMap<CallChanges, Set<string | undefined>>();

/** Repeats a step on a history that may lack messages of concurrent calls, or have more of them. */
function repeatStep(history: MessageHistory, step: HistoryStep, changes: CallChanges): void {
  const contents = repeated.get(changes) ?? new Set();
  repeated.set(changes, contents);
  if ("result" in step) return history.rewrite((messages) => resultOf(step, changes.start, contents, messages));
  if ("of" in step) repeatRewrite(history, step, contents);
  else repeatAppend(history, step, contents);
}

function repeatRewrite(
  history: MessageHistory,
  { of, parts }: Extract<HistoryStep, { readonly of: number }>,
  contents: Set<string | undefined>,
): void {
  for (const part of parts) if ("role" in part) contents.add(contentKey(part));
  const before = history.messages;
  history.rewrite((messages) => [
    ...parts.flatMap((part) => ("role" in part ? part : messages.slice(...part))),
    ...messages.slice(of),
  ]);
  // The result of a later call can contain a message that this step has removed at another place.
  const left = new Set(history.messages);
  for (const message of before) if (!left.has(message)) contents.add(contentKey(message));
}

function repeatAppend(
  history: MessageHistory,
  { at, messages }: Extract<HistoryStep, { readonly at: number }>,
  contents: Set<string | undefined>,
): void {
  for (const message of messages) contents.add(contentKey(message));
  const isLater = (message: Message) => (places.get(message) ?? -1) > at;
  const index = history.messages.slice(0, at).findLastIndex((message) => !isLater(message)) + 1;
  if (index === history.length) history.append(...messages);
  else history.rewrite((before) => before.toSpliced(index, 0, ...messages));
  for (const [number, message] of history.messages.slice(index, index + messages.length).entries())
    places.set(message, at + number);
}

/**
 * Returns the recorded history, without messages that the node, or a call that runs again, has not added yet. Other
 * messages of the node and of these calls follow.
 */
function resultOf(
  { result, removed }: HistoryResult,
  entries: CallChanges["start"],
  contents: ReadonlySet<string | undefined>,
  messages: readonly Message[],
): readonly Message[] {
  const start = entries.map(({ message }) => message);
  const known = new Set(start);
  const left = messages.flatMap((message) =>
    known.has(message) ? [] : { message, content: contentKey(message), isTaken: false },
  );
  const take = (content: string | undefined): boolean => {
    const found = left.find((each) => !each.isTaken && each.content === content);
    if (found) found.isTaken = true;
    return found !== undefined;
  };
  const recorded = result.flatMap((part) => {
    if (!("role" in part)) return start.slice(...part);
    const content = contentKey(part);
    return take(content) || contents.has(content) ? part : [];
  });
  for (const message of removed) take(contentKey(message));
  const others = left.filter(({ isTaken, content }) => !isTaken && !contents.has(content));
  return [...recorded, ...others.map(({ message }) => message)];
}
