import { hasSnapshot, linkOf } from "../checkpoint/format/entryCodec.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import type { ReadOptions, RecordLog } from "../storage/RecordLog.ts";

export interface KeptAppend {
  readonly line: Uint8Array;
  readonly position: number;
}

type StoredLog = Pick<RecordLog, "read"> & Required<Pick<RecordLog, "encodedAppends">>;

/** A log whose entries are read from its lines. */
export class StoredForm implements StoredLog {
  readonly #log: StoredLog;
  readonly #entryIn: (kept: KeptAppend) => Entry;

  constructor(log: StoredLog, entryIn: (kept: KeptAppend) => Entry) {
    this.#log = log;
    this.#entryIn = entryIn;
  }

  encodedAppends(...given: Parameters<StoredLog["encodedAppends"]>): AsyncIterable<Uint8Array> {
    return this.#log.encodedAppends(...given);
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    let begin = 0;
    if (options.sinceSnapshot)
      for await (const { line, position } of this.#within(agentId, options)) if (hasSnapshot(line)) begin = position;
    for await (const kept of this.#within(agentId, options)) if (kept.position >= begin) yield this.#entryIn(kept);
  }

  async *#within(agentId: string, { after = 0, upTo }: ReadOptions): AsyncGenerator<KeptAppend> {
    for await (const line of this.#log.encodedAppends(agentId, upTo === undefined ? {} : { upTo })) {
      const position = linkOf(line)?.position ?? 0;
      if (position > after) yield { line, position };
    }
  }
}
