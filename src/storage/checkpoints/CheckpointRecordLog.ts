import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
import { StorageClosedError } from "../../errors/storage/StorageClosedError.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { PersistenceStorageProvider } from "../PersistenceStorageProvider.ts";
import type {
  AgentSummary,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  OwnerState,
  ReadOptions,
  RecordLog,
} from "../RecordLog.ts";
import { CheckpointOwnedLog } from "./CheckpointOwnedLog.ts";
import { noBlobStore } from "../noBlobStore.ts";
import { readProviderCheckpoints } from "./readProviderCheckpoints.ts";

const retryAfterMs = 1_000;

/**
 * A log over a provider of three methods: each checkpoint is handed to it whole, and the log is made from its checkpoints
 * when an agent is opened. What lies between two checkpoints is forgotten with the process, owners of other processes are
 * not seen, and agents cannot be listed.
 */
export class CheckpointRecordLog implements RecordLog {
  readonly version = "v1";
  readonly capabilities: LogCapabilities = { durable: true, processes: "one", machines: "one", keeps: "checkpoints" };
  readonly blobs = noBlobStore;
  readonly #provider: PersistenceStorageProvider;
  readonly #owned = new Map<string, { readonly owner: LogOwner; readonly log: CheckpointOwnedLog }>();
  readonly #opening = new Set<string>();
  #closed = false;

  constructor(provider: PersistenceStorageProvider) {
    this.#provider = provider;
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    this.#assertUsable(agentId);
    const busy = this.#owned.get(agentId);
    if (busy || this.#opening.has(agentId)) {
      throw new AgentBusyError(
        agentId,
        { ...(busy?.owner ?? owner), generation: busy?.log.generation ?? 0 },
        retryAfterMs,
      );
    }
    this.#opening.add(agentId);
    try {
      const stored = await readProviderCheckpoints(this.#provider, agentId, await this.#sha256());
      const log = new CheckpointOwnedLog(this.#provider, agentId, stored, () => this.#owned.delete(agentId));
      this.#owned.set(agentId, { owner: { ...owner }, log });
      return log;
    } finally {
      this.#opening.delete(agentId);
    }
  }

  async *read(agentId: string, { after = 0, upTo = Infinity }: ReadOptions = {}): AsyncGenerator<Entry> {
    this.#assertUsable(agentId);
    const owned = this.#owned.get(agentId)?.log;
    const entries = owned
      ? owned.entries
      : (await readProviderCheckpoints(this.#provider, agentId, await this.#sha256())).entries;
    for (const entry of entries.slice()) if (entry.position > after && entry.position <= upTo) yield entry;
  }

  /** Nothing: three methods cannot tell which agents there are. */
  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<AgentSummary> {
    if (this.#closed) throw new StorageClosedError("The storage");
  }

  async owner(
    agentId: string,
  ): Promise<(LogOwner & { readonly generation: number; readonly state: OwnerState }) | undefined> {
    this.#assertUsable(agentId);
    const owned = this.#owned.get(agentId);
    return owned && { ...owned.owner, generation: owned.log.generation, state: "alive" };
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    this.#assertUsable(agentId);
    this.#owned.get(agentId)?.log.requestStop(reason);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#owned.values()].map(({ log }) => log.release()));
  }

  #sha256(): Promise<Sha256> {
    return platformSha256();
  }

  #assertUsable(agentId: string): void {
    if (this.#closed) throw new StorageClosedError("The storage");
    assertAgentId(agentId);
  }
}
