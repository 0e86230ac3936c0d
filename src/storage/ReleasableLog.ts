import { StopRequestedError } from "../errors/runErrors.ts";
import { StorageClosedError } from "../errors/storageErrors.ts";
import type { LogOwner } from "./RecordLog.ts";
import { quoted } from "../errors/quoted.ts";
import { randomId } from "../internal/randomId.ts";

/** Base class of owned logs that only this process knows. They stay owned until they are released. */
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

/** Returns this process as an owner of a log. Each call returns a distinct owner. */
export function processOwner(): LogOwner {
  const { process } = globalThis as {
    readonly process?: { readonly pid?: number; readonly env?: { readonly HOSTNAME?: string } };
  };
  return { host: process?.env?.HOSTNAME ?? "local", processId: process?.pid ?? 0, nonce: randomId() };
}
