import { StorageClosedError } from "../../errors/storageErrors.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { logArguments } from "../appends/logArguments.ts";
import type { LogOwner, StoredAppends, LastAppend } from "../RecordLog.ts";
import { Watchers } from "../Watchers.ts";
import type { LeasedOwnedLog } from "./LeasedOwnedLog.ts";

/** The logs of a storage that this process owns, until the storage is closed. */
export class OwnedLogs<Owned extends LeasedOwnedLog> {
  readonly watchers = new Watchers();
  readonly #name: string;
  readonly #owned = new Set<Owned>();
  readonly #closing = new AbortController();

  /** @param name - the name of the storage in errors. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Aborts when the storage is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** @throws StorageClosedError if the storage is closed. */
  assertOpen(): void {
    if (this.closing.aborted) throw new StorageClosedError(this.#name);
  }

  /** Checks the arguments of a call about one agent. */
  assertUsable(agentId: string): void {
    this.assertOpen();
    assertAgentId(agentId);
  }

  /** Checks the arguments of an open. */
  assertOpenable(agentId: string, owner: LogOwner): void {
    checkSchema(logArguments.owner, owner, "owner of a log");
    this.assertUsable(agentId);
  }

  of(agentId: string): Owned | undefined {
    for (const owned of this.#owned) if (owned.agentId === agentId) return owned;
    return undefined;
  }

  /** Keeps a log that was just taken, until {@link delete}. @param start - the last step of opening the log. */
  async add(owned: Owned, start: () => Promise<void> = async () => {}): Promise<Owned> {
    this.#owned.add(owned);
    await start();
    // The storage was closed during the open, so `close` did not know this owner.
    if (this.closing.aborted) await owned.release();
    this.assertOpen();
    return owned;
  }

  delete(owned: Owned): void {
    this.#owned.delete(owned);
  }

  /** Copies appends into a log that was just taken. Removes received lines and blobs of a failed copy. */
  async receive(owned: Owned, received: StoredAppends, last: LastAppend): Promise<Owned> {
    try {
      await owned.receive(received, last);
      return owned;
    } catch (error) {
      if (owned.isEmpty) await owned.drop().catch(() => {});
      await owned.release();
      throw error;
    }
  }

  /** Notifies an owner in this process before its next renewal. */
  requestStop(agentId: string, generation: number, reason: string): void {
    for (const owned of this.#owned)
      if (owned.agentId === agentId && owned.generation === generation) owned.requestStop(reason);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#owned].map((owned) => owned.release()));
  }
}
