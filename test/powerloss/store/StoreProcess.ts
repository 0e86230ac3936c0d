import { AgentBusyError } from "agent-persistence";
import type { OwnedLog } from "agent-persistence/storage";
import { FileRecordLog, type FileRecordLogOptions } from "agent-persistence/file";
import { nextOwner, summaryOf } from "../../storage/file/support/fixture.ts";
import type { History } from "../History.ts";
import type { SimulatedProcess } from "../Machine.ts";
import {
  agentId,
  entryText,
  type ExpectedPicture,
  nothing,
  pictureOf,
  type Picture,
  type TestRecord,
  visible,
} from "../Picture.ts";
import { mustBeRefused } from "./mustBeRefused.ts";
import { mustSucceed, Violation } from "../Violation.ts";

export interface AppendOptions {
  /** A new status, with a summary. */
  readonly status?: string;
  /** The text is put as a blob too, and referred to. */
  readonly asBlob?: boolean;
}

/** A process that uses a store, and keeps a history of what it was promised. */
export class StoreProcess {
  readonly log: FileRecordLog;
  readonly #process: SimulatedProcess;
  readonly #history: History;
  #owned: OwnedLog | undefined;

  constructor(process: SimulatedProcess, history: History, sha256?: FileRecordLogOptions["sha256"]) {
    this.#process = process;
    this.#history = history;
    this.log = new FileRecordLog({ ...process.options, ...(sha256 && { sha256 }) });
  }

  /** Waits for owners that cannot be asked any more. */
  async open(): Promise<void> {
    const { current } = this.#history;
    this.#owned = await this.#history.step(current, () => this.#takeOver());
    if (this.#owned.position !== current.end)
      throw new Violation("acknowledged", `the log ends at ${this.#owned.position}, not at ${current.end}`);
  }

  async append(text: string, { status, asBlob = false }: AppendOptions = {}): Promise<void> {
    const { current } = this.#history;
    const position = current.end + 1;
    const blob = asBlob
      ? await this.log.blobs.put(agentId, this.#own.generation, new TextEncoder().encode(text))
      : undefined;
    const record: TestRecord = { kind: "test", text, ...(blob !== undefined && { blob }) };
    const next = {
      entries: [...current.entries, entryText(position, [record])],
      status: status ?? current.status,
      end: position,
    };
    await this.#append(next, record, status);
  }

  /** Records that positions are left out, and removes them. */
  async prune(...positions: readonly number[]): Promise<void> {
    const checksums = new Map<number, string>();
    for await (const { position, checksum } of this.log.read(agentId)) checksums.set(position, checksum);
    const gaps = positions.map((at) => ({
      first: at,
      last: at,
      before: checksums.get(at - 1),
      after: checksums.get(at),
    }));
    const { current } = this.#history;
    const record = { kind: "pruned", gaps };
    const position = current.end + 1;
    const kept = current.entries.filter((entry) => !positions.some((at) => entry.startsWith(`[${at},`)));
    await this.#append(
      { ...current, entries: [...kept, entryText(position, [record])], end: position },
      record,
      undefined,
    );
    await this.#history.step(this.#history.current, () => this.#own.prune());
  }

  /** Prunes what was appended so many appends before the last one. */
  async pruneBefore(appends: number): Promise<void> {
    await this.prune(this.#history.current.end - appends);
  }

  async drop(): Promise<void> {
    const { end } = this.#history.current;
    await this.#history.step({ ...nothing, end }, () => this.#own.drop());
    this.#owned = undefined;
  }

  async release(): Promise<void> {
    await this.#history.step(this.#history.current, () => this.#own.release());
    this.#owned = undefined;
  }

  /** Appends where it believes the log to end, although another has come after it: this must be refused. */
  async intrude(text: string): Promise<void> {
    const { position } = this.#own;
    await mustBeRefused("append", () =>
      this.#own.append({ id: `intruder ${text}`, records: [{ kind: "test", text } as never] }, position),
    );
  }

  /** Ends without a word. */
  kill(): void {
    this.#process.end();
    this.#owned = undefined;
  }

  /** What a reader sees must be what was promised. */
  async look(check: "acknowledged" | "idempotent" = "acknowledged"): Promise<ExpectedPicture> {
    const found = await mustSucceed("usable", () => pictureOf(this.log));
    const expected = this.#history.allowed(found);
    if (expected === undefined) throw new Violation(check, difference(found, this.#history.current));
    return expected;
  }

  get #own(): OwnedLog {
    if (this.#owned === undefined) throw new Violation("usable", "the log is not owned");
    return this.#owned;
  }

  #append(next: ExpectedPicture, record: object, status: string | undefined): Promise<number> {
    const id = `append-${next.end}`;
    const summary = status === undefined ? undefined : summaryOf(agentId, status);
    const entry = { id, records: [record as never], ...(summary && { summary }) };
    return this.#history.step(next, () => this.#own.append(entry, next.end - 1));
  }

  async #takeOver(): Promise<OwnedLog> {
    try {
      return await this.log.open(agentId, nextOwner());
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      this.#process.clock.advance(error.retryAfterMs);
      return this.log.open(agentId, nextOwner());
    }
  }
}

function difference(found: Picture, expected: Picture): string {
  return `found ${visible(found)}, expected ${visible(expected)}`;
}
