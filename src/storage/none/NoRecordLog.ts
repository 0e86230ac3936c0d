import type { Entry } from "../../checkpoint/records/Entry.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { BlobStore } from "../BlobStore.ts";
import type { AgentSummary, LogCapabilities, LogOwner, OwnedLog, RecordLog } from "../RecordLog.ts";
import { NoBlobStore } from "./NoBlobStore.ts";
import { NoOwnedLog } from "./NoOwnedLog.ts";

/** Stores nothing: every log is empty and free, every append is acknowledged and forgotten. */
export class NoRecordLog implements RecordLog {
  readonly version = "v1";
  readonly capabilities: LogCapabilities = { durable: false, processes: "one", machines: "one", keeps: "nothing" };
  readonly blobs: BlobStore = new NoBlobStore();
  #closed = false;

  async open(agentId: string, _owner: LogOwner): Promise<OwnedLog> {
    this.#assertUsable(agentId);
    return new NoOwnedLog(agentId);
  }

  // oxlint-disable-next-line require-yield
  async *read(agentId: string): AsyncGenerator<Entry> {
    this.#assertUsable(agentId);
  }

  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<AgentSummary> {
    this.#assertOpen();
  }

  async owner(agentId: string): Promise<undefined> {
    this.#assertUsable(agentId);
  }

  async requestStop(agentId: string, _reason: string): Promise<void> {
    this.#assertUsable(agentId);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #assertUsable(agentId: string): void {
    this.#assertOpen();
    assertAgentId(agentId);
  }

  #assertOpen(): void {
    if (this.#closed) throw new StorageClosedError("The storage that keeps nothing");
  }
}
