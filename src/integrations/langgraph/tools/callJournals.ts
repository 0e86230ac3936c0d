import type { CallJournal } from "./CallJournal.ts";

const journals = new WeakMap<object, CallJournal>();

export function keepJournal(journal: CallJournal): void {
  journals.set(journal.checkpointer, journal);
}

export function journalOf(checkpointer: unknown): CallJournal | undefined {
  return journals.get(Object(checkpointer) as object);
}
