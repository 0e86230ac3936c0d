import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStateSeed } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageNumbers, NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { RecordedPart, RecordedSettings, RecordedState } from "../recording/Recording.ts";
import { sameValue } from "../results/sameValue.ts";

/** The state at the start of a part. */
export interface PartState {
  readonly state: RunStateSeed;
  /** The messages that replace the history. `undefined` if the line keeps its history. */
  readonly loaded: readonly Message[] | undefined;
}

/** Returns the state of a line after the changes at the starts of its next parts. */
export function stateOfParts({ history, seed }: AgentRun["state"], parts: readonly RecordedPart[]): PartState {
  let recorded: RecordedState | undefined;
  let settings: RecordedSettings | undefined;
  for (const part of parts) {
    const { state } = part.start ?? {};
    recorded = state ?? recorded;
    settings = part.settings ?? (state ? undefined : settings);
  }
  const state = recorded ? recordedSeed(recorded, history.entries, history.numbers) : seed;
  return { state: settings ? { ...state, settings } : state, loaded: recorded?.messages };
}

/** Returns the seed of a recorded state. Messages that are the same in the given history keep their numbers. */
export function recordedSeed(
  { messages, storage, model, parameters, tools, iteration, decisions }: RecordedState,
  known: readonly NumberedMessage[],
  numbers: MessageNumbers,
): RunStateSeed {
  const numbered = messages.map((message, at) => {
    const before = known[at];
    return before && sameValue(before.message, message) ? before : { number: numbers.next++, message };
  });
  return {
    messages: numbered,
    numbers,
    storage: new Map(storage),
    ...(model !== undefined && tools && { settings: { model, tools, ...(parameters && { parameters }) } }),
    iteration,
    decisions,
  };
}
