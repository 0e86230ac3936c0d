import { mergeFileChanges, isSameFile } from "../../checkpoint/data/FileChange.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { stateAt } from "../../checkpoint/state/foldTo.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { recordsBetween } from "../log/laneRecords.ts";
import type { CheckpointContent, ChangedValue, CheckpointDifference, MessageView } from "../view/CheckpointView.ts";
import { callsBegunIn, callViews } from "./callView.ts";
import { changesIn, fileChangeView, fileNotesIn, filesBetween } from "./changesView.ts";
import { checkpointShower, isoTime, lineShower } from "./checkpointView.ts";
import type { Shown } from "./Source.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";

/** Selects a part of the message history. */
export interface ContentOptions {
  /** The maximum number of messages, counted from the last. Defaults to 200. */
  readonly messagesLimit?: number | undefined;
  /** Selects messages before this index, counted from 0. Defaults to the end. */
  readonly messagesBefore?: number | undefined;
}

const defaultMessages = 200;

export function checkpointContent(shown: Shown, point: CheckpointPoint, options: ContentOptions): CheckpointContent {
  const { index, show } = shown;
  const { log } = index;
  const state = stateAt(index.log, point);
  const { record } = point;
  const run = log.runRecords.get(point.runId);
  const { requirements, decisions } = state;
  return withoutUndefined({
    checkpoint: checkpointShower(log)(point),
    runInput: run && !run.assumed ? show(run.input) : undefined,
    input: show(record.input),
    inputType: record.inputType,
    ...historyPage(shown, state, options),
    storage: Object.fromEntries([...state.storage].map(([key, value]) => [key, shown.show(value)])),
    ...shownSettings(shown, state),
    decisions: decisions.map(({ decision, reason, at, node }) =>
      withoutUndefined({ decision, reason, at: isoTime(at), node }),
    ),
    requires: { files: requirements?.files ?? [], environment: requirements?.environment ?? {} },
    ...sinceParent(shown, point),
  }) as CheckpointContent;
}

function historyPage(
  { show }: Shown,
  { history }: AgentState,
  { messagesBefore = history.length, messagesLimit = defaultMessages }: ContentOptions,
): Pick<CheckpointContent, "messages" | "messageCount" | "messagesBefore"> {
  const end = Math.min(messagesBefore, history.length);
  const begin = Math.max(0, end - messagesLimit);
  const messages = history.slice(begin, end).map(({ number, message }) => ({ number, message: show(message) }));
  return { messages, messageCount: history.length, ...(begin > 0 && { messagesBefore: begin }) };
}

function shownSettings({ show }: Shown, { settings }: AgentState) {
  if (!settings) return { tools: [] };
  const { model, parameters, tools } = settings;
  // The stored model name is empty for an imported checkpoint without a model.
  return { model: model || undefined, parameters: parameters === undefined ? undefined : show(parameters), tools };
}

function sinceParent(shown: Shown, point: CheckpointPoint): Pick<CheckpointContent, "calls" | "files"> {
  const { log } = shown.index;
  const { lane } = point.record;
  const parent = log.checkpoints.get(point.parent ?? -1);
  const after = parent?.record.lane === lane ? parent.order : -1;
  const records = recordsBetween(log, lane, after, point.order);
  const changes = fileNotesIn(records).flatMap(({ record }) => changesIn(shown, record));
  const files = [...mergeFileChanges(changes).values()].filter(({ before, after: now }) => !isSameFile(before, now));
  return {
    calls: callViews(shown, callsBegunIn(shown.index, records), lineShower(log)),
    files: files.map(fileChangeView),
  };
}

export function checkpointDifference(shown: Shown, from: CheckpointPoint, to: CheckpointPoint): CheckpointDifference {
  const { index } = shown;
  const before = stateAt(index.log, from);
  const after = stateAt(index.log, to);
  const view = checkpointShower(index.log);
  return withoutUndefined({
    from: view(from),
    to: view(to),
    messages: messagesOf(shown, before, after),
    input: changedValue(shown, { value: from.record.input }, { value: to.record.input }),
    storage: changedFields(shown, before.storage, after.storage),
    settings: changedFields(shown, settingsOf(before), settingsOf(after)),
    files: filesBetween(shown, from, to),
  });
}

/** Compares messages by number, because a message has the same number in all checkpoints. */
function messagesOf({ show }: Shown, before: AgentState, after: AgentState): CheckpointDifference["messages"] {
  const numbers = (state: AgentState) => new Set(state.history.map(({ number }) => number));
  const without = (state: AgentState, others: ReadonlySet<number>): readonly MessageView[] =>
    state.history
      .filter(({ number }) => !others.has(number))
      .map(({ number, message }) => ({ number, message: show(message) }));
  const added = without(after, numbers(before));
  return { kept: after.history.length - added.length, removed: without(before, numbers(after)), added };
}

function settingsOf({ settings }: AgentState): ReadonlyMap<string, unknown> {
  const { model, parameters, tools } = settings ?? {};
  return new Map(Object.entries(withoutUndefined({ model, parameters, tools })));
}

function changedFields(
  shown: Shown,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Readonly<Record<string, ChangedValue>> {
  const of = (fields: ReadonlyMap<string, unknown>, key: string) =>
    fields.has(key) ? { value: fields.get(key) } : undefined;
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  const changed = keys.map((key) => [key, changedValue(shown, of(before, key), of(after, key))] as const);
  return Object.fromEntries(
    changed.flatMap(([key, change]): [string, ChangedValue][] => (change ? [[key, change]] : [])),
  );
}

type Present = { readonly value: unknown } | undefined;

/** Returns `undefined` for equal values. */
function changedValue(shown: Shown, before: Present, after: Present): ChangedValue | undefined {
  const { show } = shown;
  const change = { ...(before && { before: show(before.value) }), ...(after && { after: show(after.value) }) };
  return before && after && isSame(shown, before.value, after.value) ? undefined : change;
}

/** Returns `false` if a value is unreadable. */
function isSame({ values }: Shown, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  try {
    return isSameValue(values.decoded(a), values.decoded(b));
  } catch {
    return false;
  }
}
