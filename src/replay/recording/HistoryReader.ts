import { HistoryFold, type StoredMessage } from "../../checkpoint/messages/LinkedHistory.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { MessageRecord } from "../../checkpoint/records/lineRecords.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedChange, RecordedCheckpoint, RecordedTrim } from "./Recording.ts";

type Change = Pick<RecordedChange, "added" | "history">;

/** Reads the messages of a line, and how they change between two checkpoints. */
export class HistoryReader {
  readonly #log: AgentLog;
  #history = new HistoryFold();
  #added: Message[] = [];
  #isEdited = false;
  readonly #trims: RecordedTrim[] = [];
  /** The changes before a trim, while the last edit of the trim has not been read. */
  #trimming: Change | undefined;

  constructor(log: AgentLog) {
    this.#log = log;
  }

  begin(entries: readonly StoredMessage[]): void {
    this.#history = new HistoryFold(entries);
  }

  add(record: AgentRecord, order: number): void {
    if (record.kind !== "message" && record.kind !== "edit") return;
    if (record.kind === "edit" && record.trim) this.#trimming ??= this.#take();
    else this.#endTrim();
    if (record.kind === "message") return this.#push(record, order);
    this.#isEdited ||= !record.trim;
    const insert = record.insert.map((entry) => this.#byValue(entry, record.lane, order));
    this.#history.edit({ ...record, insert });
  }

  /** Returns the changes since the last call. */
  take(): Pick<RecordedCheckpoint, "added" | "history" | "trims"> {
    this.#endTrim();
    const trims = this.#trims.splice(0);
    return { ...this.#take(), ...(trims.length > 0 && { trims }) };
  }

  get messages(): readonly Message[] {
    return this.#history.entries().map(({ message }) => this.#log.readValue(message) as Message);
  }

  #push({ number, message, lane }: MessageRecord, order: number): void {
    const stored = this.#byValue({ number, message }, lane, order);
    this.#history.push(stored);
    this.#added.push(this.#log.readValue(stored.message) as Message);
  }

  #take(): Change {
    const change = { added: this.#added, ...(this.#isEdited && { history: this.messages }) };
    this.#added = [];
    this.#isEdited = false;
    return change;
  }

  #endTrim(): void {
    if (this.#trimming) this.#trims.push({ ...this.#trimming, trimmed: this.messages });
    this.#trimming = undefined;
  }

  #byValue<Entry extends StoredMessage>(entry: Entry, lane: number, order: number): Entry {
    return { ...entry, message: lineValue(this.#log.index, lane, entry.message, order) };
  }
}
