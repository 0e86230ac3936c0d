import { StopRequestedError } from "../../errors/runErrors.ts";
import { OwnedLogWrapper } from "../../storage/OwnedLogWrapper.ts";
import type { OwnedLog } from "../../storage/RecordLog.ts";

export interface KeyedLogContext {
  /** Returns the reason of a request to stop. Must not reject. */
  readonly openReason: (reason: string) => Promise<string>;
  /** Returns the id of the key that is destroyed together with the data. `undefined` without a key. */
  readonly keyId: () => Promise<string | undefined>;
  readonly dropped: (keyId: string) => Promise<void>;
  readonly onEnd: () => void;
}

/** The base class of owned logs whose agent has a data key. It converts the stored reason of a request to stop. */
export abstract class KeyedOwnedLog extends OwnedLogWrapper {
  readonly #context: KeyedLogContext;
  readonly #lost = new AbortController();
  #telling: Promise<void> | undefined;

  constructor(agentId: string, owned: OwnedLog, context: KeyedLogContext) {
    super(owned, context.onEnd);
    this.#context = context;
    const { lost } = owned;
    const tell = () => void (this.#telling ??= this.#tell(agentId, lost.reason));
    if (lost.aborted) tell();
    else lost.addEventListener("abort", tell, { once: true });
  }

  override get lost(): AbortSignal {
    return this.#lost.signal;
  }

  override async checkStop(): Promise<void> {
    await super.checkStop();
    await this.#telling;
  }

  drop(): Promise<void> {
    return this.turns.runExclusive(async () => {
      const keyId = await this.#context.keyId();
      await this.owned.drop();
      this.onEnd();
      // Another process may own the id by now. It has another key.
      if (keyId !== undefined) await this.#context.dropped(keyId);
    });
  }

  async #tell(agentId: string, reason: unknown): Promise<void> {
    if (!(reason instanceof StopRequestedError)) return this.#lost.abort(reason);
    this.#lost.abort(new StopRequestedError(agentId, await this.#context.openReason(reason.reason)));
  }
}
