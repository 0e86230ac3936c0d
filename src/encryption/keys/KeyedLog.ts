import { InvalidAgentIdError } from "../../errors/agentErrors.ts";
import { StopRequestedError } from "../../errors/runErrors.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import {
  type PersistenceStorageProvider,
  providerSchema,
  offersLog,
} from "../../storage/PersistenceStorageProvider.ts";
import type { LogOwner, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { OwnedLogWrapper, RecordLogWrapper } from "../../storage/LogWrapper.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import type { DataKeys, DataKey } from "./DataKeys.ts";
import { isKeyLogId, unlessStorageFailed } from "./KeyLog.ts";

/** Base class of the logs that `encrypted()` and a redaction with a vault use. Each agent has a data key. */
export abstract class KeyedRecordLog<Owned extends KeyedOwnedLog = KeyedOwnedLog> extends RecordLogWrapper<Owned> {
  readonly keys: DataKeys;

  constructor(log: RecordLog, keys: DataKeys) {
    super(log);
    this.keys = keys;
  }

  override async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    assertNoKeyLog(agentId);
    return super.open(agentId, owner);
  }

  /** Returns the key for new data of an agent. @throws KeyMissingError */
  keyForWriting(agentId: string): Promise<DataKey> {
    return this.keys.writing(agentId, () => this.usesKey(agentId));
  }

  /** Destroys the key of an agent that no process runs. @throws AgentBusyError */
  async destroyKey(agentId: string): Promise<void> {
    assertNoKeyLog(agentId);
    const owned = await this.stored.open(agentId, { ...processOwner(), mustExist: true });
    try {
      await this.keys.destroy(agentId);
    } finally {
      await owned.release();
    }
  }

  protected override async opened(agentId: string, owned: OwnedLog, owner: LogOwner): Promise<Owned> {
    await this.prepareKey(agentId, owner, owned);
    return this.wrap(agentId, owned);
  }

  protected abstract wrap(agentId: string, owned: OwnedLog): Owned | Promise<Owned>;

  /** Returns whether the log has data that the key of an agent encrypted. */
  protected abstract usesKey(agentId: string): Promise<boolean>;

  protected keyContext(agentId: string, owned: OwnedLog): Pick<KeyedLogContext, "keyId" | "dropped"> {
    return {
      keyId: async () => {
        const keyId = await this.keys.storedId(agentId);
        if (keyId === undefined) return undefined;
        // The log of a missing agent has no owner.
        return (await this.stored.owner(agentId))?.generation === owned.generation ? keyId : undefined;
      },
      // Without a key, this finishes an interrupted destruction of the key.
      dropped: (keyId = "") => this.keys.destroy(agentId, keyId),
    };
  }

  /** Encrypts the key of an agent with the current key. Destroys the key that a deleted agent left for a new agent. */
  protected async prepareKey(
    agentId: string,
    { nonce }: LogOwner,
    { damage, position }: Partial<Pick<OwnedLog, "damage" | "position">> = {},
  ): Promise<void> {
    // A missing key is reported by the call that needs it, because a log without its key can still be dropped.
    if (damage || (await this.hasData(agentId, position)))
      return void (await this.keys.refresh(agentId).catch(unlessStorageFailed));
    const keyId = await this.keys.storedId(agentId);
    if (keyId === undefined || (await this.hasData(agentId))) return;
    // The key has no data if this process owned the log before and after it was read.
    if ((await this.stored.owner(agentId))?.nonce === nonce) await this.keys.destroy(agentId, keyId);
  }

  /** @param position - of the last append, if known. A log keeps its position when the agent is deleted. */
  protected async hasData(agentId: string, position?: number): Promise<boolean> {
    if (position === 0) return false;
    const after = position === undefined ? undefined : { after: position - 1 };
    try {
      for await (const _ of this.stored.read(agentId, after)) return true;
      return false;
    } catch (error) {
      return unlessStorageFailed(error) ?? true;
    }
  }
}

export interface KeyedLogContext {
  /** Returns the reason of a request to stop. Must not reject. */
  readonly openReason: (reason: string) => Promise<string>;
  /** Returns the id of the key that is destroyed together with the data. `undefined` without a key. */
  readonly keyId: () => Promise<string | undefined>;
  readonly dropped: (keyId: string | undefined) => Promise<void>;
}

/** Base class of owned logs whose agent has a data key. It converts the stored reason of a request to stop. */
export abstract class KeyedOwnedLog extends OwnedLogWrapper {
  readonly #context: KeyedLogContext;
  readonly #lost = new AbortController();
  #telling: Promise<void> | undefined;

  constructor(agentId: string, owned: OwnedLog, context: KeyedLogContext) {
    super(agentId, owned);
    this.#context = context;
    const { lost } = owned;
    const tell = () => void (this.#telling ??= this.#tell(lost.reason));
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
    return this.inTurn(async () => {
      const keyId = await this.#context.keyId();
      await this.owned.drop();
      this.onEnd();
      // Another process can already own a new agent with this id, which has another key.
      await this.#context.dropped(keyId);
    });
  }

  async #tell(reason: unknown): Promise<void> {
    if (!(reason instanceof StopRequestedError)) return this.#lost.abort(reason);
    this.#lost.abort(new StopRequestedError(this.agentId, await this.#context.openReason(reason.reason)));
  }
}

/** @throws InvalidAgentIdError for an id that belongs to a data key. */
export function assertNoKeyLog(agentId: string): void {
  if (isKeyLogId(agentId)) throw new InvalidAgentIdError(agentId, "the id of a data key");
}

/** Returns the log of an encrypted storage. @throws NotSupportedError for any other storage. */
export function encryptedLogOf(storage: PersistenceStorageProvider, operation: string): KeyedRecordLog {
  checkSchema(providerSchema, storage, `storage of ${operation}`);
  if (offersLog(storage) && storage.log instanceof KeyedRecordLog) return storage.log;
  throw new NotSupportedError(operation, "a storage of encrypted(), or of a redaction with a vault");
}
