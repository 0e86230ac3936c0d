import { LinkedHistory } from "./LinkedHistory.ts";
import type { HistoryEdit, StoredMessage } from "./storedHistory.ts";

/** Builds the message history of a lane from its records. Most lanes only append and need no links between messages. */
export class HistoryFold {
  #entries: StoredMessage[];
  #linked: LinkedHistory | undefined;

  constructor(entries: readonly StoredMessage[] = []) {
    this.#entries = [...entries];
  }

  push(entry: StoredMessage): void {
    if (this.#linked) this.#linked.push(entry);
    else this.#entries.push(entry);
  }

  edit(edit: HistoryEdit<StoredMessage>): void {
    this.#linked ??= new LinkedHistory(this.#entries);
    this.#linked.edit(edit);
  }

  entries(): readonly StoredMessage[] {
    return [...(this.#linked?.from() ?? this.#entries)];
  }
}
