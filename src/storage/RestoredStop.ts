import { StopRequestedError } from "../errors/runErrors.ts";
import type { OwnedLog } from "./RecordLog.ts";

/** The loss of an owned log whose reason to stop is stored in another form. */
export class RestoredStop {
  readonly #lost = new AbortController();
  readonly #restore: (reason: string) => Promise<string>;
  #telling: Promise<void> | undefined;

  /** @param restore - returns the reason of a request to stop. Must not reject. */
  constructor(agentId: string, { lost }: Pick<OwnedLog, "lost">, restore: (reason: string) => Promise<string>) {
    this.#restore = restore;
    const tell = () => void (this.#telling ??= this.#tell(agentId, lost.reason));
    if (lost.aborted) tell();
    else lost.addEventListener("abort", tell, { once: true });
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Resolves when the signal shows a loss that the log has noticed. */
  async told(): Promise<void> {
    await this.#telling;
  }

  async #tell(agentId: string, reason: unknown): Promise<void> {
    if (!(reason instanceof StopRequestedError)) return this.#lost.abort(reason);
    this.#lost.abort(new StopRequestedError(agentId, await this.#restore(reason.reason)));
  }
}
