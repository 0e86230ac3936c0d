import { StopRequestedError } from "../errors/runErrors.ts";
import { StorageClosedError } from "../errors/storageErrors.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import type { LogOwner, OwnedLog, RecordLog } from "./RecordLog.ts";
import { quoted } from "../errors/AgentPersistenceError.ts";

/** Base class of owned logs that only this process knows. A log stays owned until it is released. */
export abstract class ReleasableLog {
  readonly #lost = new AbortController();
  readonly #onRelease: () => void;
  #released = false;

  constructor(
    readonly agentId: string,
    readonly owner: LogOwner,
    readonly generation: number,
    onRelease: () => void = () => {},
  ) {
    this.#onRelease = onRelease;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#onRelease();
  }

  /** Does nothing, because a request to stop reaches the owner immediately. */
  async checkStop(): Promise<void> {}

  requestStop(reason: string): void {
    this.#lost.abort(new StopRequestedError(this.agentId, reason));
  }

  protected assertOwned(): void {
    if (this.#released) throw new StorageClosedError(`The log of agent ${quoted(this.agentId)}`);
  }
}

/** Base class of logs whose owners are all in this process. */
export abstract class ProcessLog<Owned extends ReleasableLog & OwnedLog> {
  readonly version = "v1";
  protected readonly owned = new Map<string, Owned>();
  readonly #name: string;
  #closed = false;

  /** @param name - the name of the storage in errors. */
  constructor(name: string) {
    this.#name = name;
  }

  async owner(agentId: string): ReturnType<RecordLog["owner"]> {
    this.assertUsable(agentId);
    const owned = this.owned.get(agentId);
    return owned && { ...owned.owner, generation: owned.generation, state: "alive" };
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    this.assertUsable(agentId);
    this.owned.get(agentId)?.requestStop(reason);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.owned.values()].map((owned) => owned.release()));
  }

  protected assertUsable(agentId: string): void {
    this.assertOpen();
    assertAgentId(agentId);
  }

  protected assertOpen(): void {
    if (this.#closed) throw new StorageClosedError(this.#name);
  }
}

/** Returns this process as an owner of a log. Each call returns a distinct owner. */
export function processOwner(): LogOwner {
  const { process } = globalThis as {
    readonly process?: { readonly pid?: number; readonly env?: { readonly HOSTNAME?: string } };
  };
  return { host: process?.env?.HOSTNAME ?? "local", processId: process?.pid ?? 0, nonce: crypto.randomUUID() };
}
