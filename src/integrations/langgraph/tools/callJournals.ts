import type { CallJournal } from "./CallJournal.ts";

const journals = new WeakMap<object, CallJournal>();

/** Registers the journal of a checkpointer for durable tools. */
export function keepJournal(journal: CallJournal): void {
  journals.set(journal.checkpointer, journal);
}

/** Returns the journal of a checkpointer, or `undefined` for a foreign checkpointer. */
export function journalOf(checkpointer: unknown): CallJournal | undefined {
  return journals.get(Object(checkpointer) as object);
}
