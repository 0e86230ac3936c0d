import type { AssistantMessage } from "../checkpoint/Message.ts";
import { answerKey, type AgentState, type RecordedCall } from "../checkpoint/AgentState.ts";
import type { LogIndex } from "../checkpoint/LogIndex.ts";
import type { NoteRecord, OutcomeRecord, Visit } from "../checkpoint/records.ts";
import type { SlotReader } from "../checkpoint/SlotReader.ts";

/**
 * What the node that runs next did before: the answers and tool calls recorded on its line, given back in order when it
 * asks for them again.
 */
export class Recording {
  readonly #answers = new Map<string, AssistantMessage>();
  readonly #calls = new Map<string, RecordedCall>();
  /** Calls made by code, by where they were made. */
  readonly #placed = new Map<string, RecordedCall>();
  readonly #outputs = new Map<string, unknown>();
  readonly #inputs = new Map<string, unknown>();
  readonly #notes = new Map<string, { readonly key: string; readonly value: unknown }[]>();

  /** @param from the first visit that runs again; what was recorded for earlier ones is not asked for any more. */
  constructor(state: AgentState, reader: SlotReader, index: LogIndex, from: Visit) {
    const again = (visit: Visit) => visit[0] === from[0] && visit[1] >= from[1];
    for (const [key, { visit, message }] of state.answers)
      if (again(visit)) this.#answers.set(key, reader.message(message) as AssistantMessage);
    for (const call of state.calls.values()) {
      if (!again(call.visit) || !index.counts(call) || isMadeAgain(call.outcome)) continue;
      this.#calls.set(call.call, call);
      if (call.outcome?.output !== undefined) this.#outputs.set(call.call, reader.read(call.outcome.output));
      const { ordinal, within } = call.intent ?? call.outcome ?? {};
      if (ordinal !== undefined) this.#inputs.set(call.call, reader.read((call.intent ?? call.outcome)?.input));
      if (ordinal !== undefined) this.#placed.set(answerKey(call.visit, ordinal, within), call);
    }
    for (const note of state.notes) this.#addNote(note, reader);
  }

  #addNote({ call = "", key, value }: NoteRecord, reader: SlotReader): void {
    if (!this.#calls.has(call)) return;
    const noted = this.#notes.get(call) ?? [];
    this.#notes.set(call, [...noted, { key, value: reader.read(value) }]);
  }

  answer(visit: Visit, ordinal: number, within: string | undefined): AssistantMessage | undefined {
    return this.#answers.get(answerKey(visit, ordinal, within));
  }

  /** The call that a model asked for under this id. */
  call(id: string): RecordedCall | undefined {
    return this.#calls.get(id);
  }

  /** The call that code made at this place. */
  callAt(visit: Visit, ordinal: number, within: string | undefined): RecordedCall | undefined {
    return this.#placed.get(answerKey(visit, ordinal, within));
  }

  /** The input of a call made by code. */
  inputOf(call: string): unknown {
    return this.#inputs.get(call);
  }

  /** What was noted in a call, oldest first. */
  notesOf(call: string, key: string): readonly unknown[] {
    const notes = this.#notes.get(call) ?? [];
    return notes.filter((note) => note.key === key).map(({ value }) => value);
  }

  outputOf(call: string): unknown {
    return this.#outputs.get(call);
  }
}

/** A call that has nothing to give back: it is made as if for the first time. */
function isMadeAgain(outcome: OutcomeRecord | undefined): boolean {
  return outcome !== undefined && (outcome.moved ?? outcome.unstarted ?? outcome.suspended) === true;
}
