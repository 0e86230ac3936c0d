import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import { estimateBytes } from "../checkpoint/values/estimateBytes.ts";
import { readEntries } from "../storage/readEntries.ts";
import type { SnapshotDue } from "../storage/SnapshotDue.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import type { LogWriter } from "./writer/LogWriter.ts";

/** A snapshot reads the log again, so the log must first grow by this share. This limits the total cost of reading. */
const leastShare = 1 / 16;

/** The least size of an open line in a snapshot, which decides without a snapshot if there are too many lines for one. */
const leastLineBytes = 100;

interface SnapshotJournal {
  readonly agentId: string;
  readonly generation: number;
  readonly snapshotDue: SnapshotDue;
  readonly unreadBytes: number;
  readonly storedBytes: number;
  readonly writer: ValueWriter;
  append(records: readonly AgentRecord[]): void;
}

/** Makes snapshots of the agent with all its open branches in the background, one at a time. */
export class HeadSnapshots {
  readonly #journal: SnapshotJournal;
  readonly #log: RecordLog;
  readonly #writer: LogWriter<AgentRecord>;
  making: Promise<void> | undefined;
  #retryBytes = 0;
  #isClosed = false;

  constructor(journal: SnapshotJournal, log: RecordLog, writer: LogWriter<AgentRecord>) {
    this.#journal = journal;
    this.#log = log;
    this.#writer = writer;
  }

  /** A storage that keeps only some records gets no snapshots. */
  makeIfDue(): void {
    if (this.making || this.#isClosed || this.#log.capabilities.keeps !== undefined) return;
    const { snapshotDue, storedBytes, unreadBytes } = this.#journal;
    if (unreadBytes < Math.max(this.#retryBytes, leastShare * storedBytes)) return;
    if (!snapshotDue.isDue("step", unreadBytes)) return;
    // A failed snapshot has no effect. If its append failed, the next append reports the same error.
    this.making = this.#make()
      .catch(() => undefined)
      .finally(() => (this.making = undefined));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.making;
  }

  async #make(): Promise<void> {
    const { headSnapshot } = await import("../checkpoint/data/headSnapshot.ts");
    const { agentId, snapshotDue, storedBytes, unreadBytes } = this.#journal;
    this.#retryBytes = unreadBytes + leastShare * storedBytes;
    const following = this.#writer.follow();
    try {
      const { index } = await readEntries(this.#log, agentId, { sinceSnapshot: true, upTo: following.position });
      if (this.#isClosed) return;
      // An `await` between `end()` and the append would let other records in between.
      const { generation } = this.#journal;
      for (const append of following.end()) index.add({ ...append, generation, id: "", checksum: "", prev: "" });
      const isWorth = (bytes: number) => snapshotDue.tried("step", this.#journal.unreadBytes, bytes);
      const open = index.lines.openLanes.filter((lane) => !index.isEndedAgent(lane));
      if (!isWorth(leastLineBytes * open.length)) return;
      const snapshot = headSnapshot(index);
      if (!snapshot || !isWorth(estimateBytes(snapshot))) return;
      this.#retryBytes = 0;
      this.#journal.append([snapshot]);
      this.#journal.writer.forget();
    } finally {
      following.end();
    }
  }
}
