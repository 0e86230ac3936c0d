import { StorageClosedError } from "../../errors/storageErrors.ts";
import type { OwnedLog } from "../RecordLog.ts";

/** The log of an agent that must exist and does not. It has no owner and no files. */
export class AbsentFileLog implements OwnedLog {
  readonly position = 0;
  readonly generation = 0;
  readonly lost: AbortSignal = new AbortController().signal;
  readonly #agentId: string;

  constructor(agentId: string) {
    this.#agentId = agentId;
  }

  append(): Promise<number> {
    return Promise.reject(
      new StorageClosedError(`The log of agent ${JSON.stringify(this.#agentId)}, which does not exist,`),
    );
  }

  async prune(): Promise<void> {}

  async drop(): Promise<void> {}

  async release(): Promise<void> {}
}
