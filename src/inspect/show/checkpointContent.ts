import { mergeFileChanges, isSameFile } from "../../checkpoint/data/FileChange.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { recordsBetween } from "../place/laneRecords.ts";
import type { CheckpointContent } from "../view/CheckpointContent.ts";
import type { ShownValue } from "../view/ShownValue.ts";
import { callsBegunIn, callViews } from "./callView.ts";
import { changesIn, fileChangeView, fileNotesIn } from "./changesView.ts";
import { checkpointShower, isoTime, lineShower } from "./checkpointView.ts";
import type { Shown } from "./Source.ts";

/** Selects a part of the history. */
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
  const state = stateAt(index, point);
  const { record } = point;
  const run = log.runRecords.get(point.runId);
  const { requirements, decisions } = state;
  return withoutUndefined({
    checkpoint: checkpointShower(log)(point),
    runInput: run && !run.assumed ? show(run.input) : undefined,
    input: show(record.input),
    inputType: record.inputType,
    ...historyPage(shown, state, options),
    storage: shownStorage(shown, state),
    ...shownSettings(shown, state),
    decisions: decisions.map(({ decision, reason, at, node }) =>
      withoutUndefined({ decision, reason, at: isoTime(at), node }),
    ),
    requires: { files: requirements?.files ?? [], environment: requirements?.environment ?? {} },
    ...sinceParent(shown, point),
  }) as CheckpointContent;
}

/**
 * Returns the state at a checkpoint, with locations in place of values. @throws UnreadableValueError if the log lacks a
 * part of the state.
 */
export function stateAt({ log }: AgentIndex, point: CheckpointPoint): AgentState {
  const state = foldTo(log, point);
  if (!state) throw new UnreadableValueError(`the lane to checkpoint ${point.id} is not in the log`);
  return state;
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
  // An imported checkpoint without a model is stored with an empty name.
  return { model: model || undefined, parameters: parameters === undefined ? undefined : show(parameters), tools };
}

function shownStorage({ show }: Shown, { storage }: AgentState): CheckpointContent["storage"] {
  return Object.fromEntries([...storage].map(([key, value]): [string, ShownValue] => [key, show(value)]));
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
