import type { CallJournal } from "./CallJournal.ts";

const journals = new WeakMap<object, CallJournal>();

/** Makes the journal of a checkpointer known to durable tools. */
export function keepJournal(journal: CallJournal): void {
  journals.set(journal.checkpointer, journal);
}

/** The journal of a checkpointer; `undefined` for one of another kind. */
export function journalOf(checkpointer: unknown): CallJournal | undefined {
  return journals.get(Object(checkpointer) as object);
}
