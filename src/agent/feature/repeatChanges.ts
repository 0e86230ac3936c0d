import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import { type HistoryStep, type Slot, type StateChanges, storageSlot } from "../state/CallChanges.ts";
import type { RunSettings, RunState } from "../state/RunState.ts";
import { callsAround, notesOf, withinOf } from "./ContextBinding.ts";

/**
 * Makes the recorded changes of a call again, because a replay returns its output without running the tool.
 *
 * @param context The context of the code that makes the call.
 * @throws UnreadableValueError if the stored form is unknown
 */
export function repeatChanges(context: AgentContext, stored: unknown): void {
  const changes = stored as StateChanges;
  const notes = notesOf(context);
  try {
    change(notes.state, changes);
  } catch {
    throw new UnreadableValueError("the changes of a tool call have an unknown form");
  }
  const within = withinOf(context);
  notes.note(within === undefined ? [] : [within, ...callsAround(context)], { ...changes, slots: slotsOf(changes) });
}

function change(state: RunState, { storage = {}, deleted = [], settings, progress, ...lists }: StateChanges): void {
  const set = Object.entries(storage).map(([key, value]) => [key, { value }] as const);
  state.storage.replace(new Map([...set, ...deleted.map((key) => [key, undefined] as const)]));
  if (settings) state.configure(settings);
  if (progress) state.setProgress(progress.percent, progress.summary);
  const { history = [], decisions = [], requirements = [] } = lists;
  for (const step of history) repeatStep(state.history, step);
  for (const decision of decisions) state.recordDecision(decision);
  for (const needs of requirements) state.require(needs);
}

function slotsOf({ storage = {}, deleted = [], settings = {}, progress }: StateChanges): readonly Slot[] {
  const fields = Object.keys(settings) as (keyof RunSettings)[];
  return [
    ...Object.keys(storage).map(storageSlot),
    ...deleted.map(storageSlot),
    ...fields,
    ...(progress ? ["progress" as const] : []),
  ];
}

/** The recorded places of repeated messages, because concurrent calls can end in another order than they appended. */
const places = new WeakMap<Message, number>();

/** Repeats a step on a history that may lack messages of concurrent calls, or have more of them. */
function repeatStep(history: MessageHistory, step: HistoryStep): void {
  if ("of" in step) {
    const partOf = (messages: readonly Message[]) => (part: (typeof step.parts)[number]) =>
      "role" in part ? [part] : messages.slice(...part);
    return history.rewrite((messages) => [...step.parts.flatMap(partOf(messages)), ...messages.slice(step.of)]);
  }
  const { at, messages } = step;
  const isLater = (message: Message) => (places.get(message) ?? -1) > at;
  const index = history.messages.slice(0, at).findLastIndex((message) => !isLater(message)) + 1;
  if (index === history.length) history.append(...messages);
  else history.rewrite((before) => before.toSpliced(index, 0, ...messages));
  for (const [number, message] of history.messages.slice(index, index + messages.length).entries())
    places.set(message, at + number);
}
