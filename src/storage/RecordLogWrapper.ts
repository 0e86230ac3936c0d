import type { Entry } from "../checkpoint/records/Entry.ts";
import type { BlobStore } from "./BlobStore.ts";
import type {
  AgentSummary,
  ListOptions,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "./RecordLog.ts";

/** The base of a log that changes what the log below stores. */
export abstract class RecordLogWrapper implements RecordLog {
  readonly version = "v1";
  /** The log below. */
  readonly stored: RecordLog;
  readonly unremovedBytes?: NonNullable<RecordLog["unremovedBytes"]>;
  readonly end?: NonNullable<RecordLog["end"]>;
  readonly watch?: NonNullable<RecordLog["watch"]>;
  readonly makeRoom?: NonNullable<RecordLog["makeRoom"]>;

  constructor(log: RecordLog) {
    this.stored = log;
    if (log.unremovedBytes) this.unremovedBytes = log.unremovedBytes.bind(log);
    if (log.end) this.end = log.end.bind(log);
    if (log.watch) this.watch = log.watch.bind(log);
    if (log.makeRoom) this.makeRoom = log.makeRoom.bind(log);
  }

  abstract get blobs(): BlobStore;

  get capabilities(): LogCapabilities {
    return this.stored.capabilities;
  }

  abstract open(agentId: string, owner: LogOwner): Promise<OwnedLog>;
  abstract read(agentId: string, options?: ReadOptions): AsyncGenerator<Entry>;

  list(options?: ListOptions): AsyncIterable<AgentSummary> {
    return this.stored.list(options);
  }

  owner(agentId: string): ReturnType<RecordLog["owner"]> {
    return this.stored.owner(agentId);
  }

  requestStop(agentId: string, reason: string): Promise<void> {
    return this.stored.requestStop(agentId, reason);
  }

  close(): Promise<void> {
    return this.stored.close();
  }
}
