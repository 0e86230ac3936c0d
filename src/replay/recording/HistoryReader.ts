import { HistoryFold, type StoredMessage } from "../../checkpoint/messages/LinkedHistory.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordedCheckpoint } from "./Recording.ts";

type Changes = Pick<RecordedCheckpoint, "added" | "history" | "trimmed">;

/** Reads the messages of a line, and how they change between two checkpoints. */
export class HistoryReader {
  readonly #log: AgentLog;
  #history = new HistoryFold();
  #added: Message[] = [];
  #isEdited = false;
  /** The history before its first trim since the last checkpoint. */
  #untrimmed: readonly Message[] | undefined;

  constructor(log: AgentLog) {
    this.#log = log;
  }

  begin(entries: readonly StoredMessage[]): void {
    this.#history = new HistoryFold(entries);
  }

  add(record: AgentRecord, order: number): void {
    if (record.kind === "message") {
      const stored = this.#byValue({ number: record.number, message: record.message }, record.lane, order);
      this.#history.push(stored);
      this.#added.push(this.#log.readValue(stored.message) as Message);
    }
    if (record.kind !== "edit") return;
    if (record.trim) this.#untrimmed ??= this.messages;
    else this.#isEdited = true;
    const insert = record.insert.map((entry) => this.#byValue(entry, record.lane, order));
    this.#history.edit({ ...record, insert });
  }

  /** Returns the changes since the last call. */
  take(): Changes {
    const untrimmed = this.#untrimmed;
    const changes: Changes = {
      added: this.#added,
      ...(this.#isEdited && { history: untrimmed ?? this.messages }),
      ...(untrimmed && { trimmed: this.messages }),
    };
    this.#added = [];
    this.#isEdited = false;
    this.#untrimmed = undefined;
    return changes;
  }

  get messages(): readonly Message[] {
    return this.#history.entries().map(({ message }) => this.#log.readValue(message) as Message);
  }

  #byValue<Entry extends StoredMessage>(entry: Entry, lane: number, order: number): Entry {
    return { ...entry, message: lineValue(this.#log.index, lane, entry.message, order) };
  }
}
