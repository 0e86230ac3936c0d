import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from "@openai/agents-core";
import { z } from "zod";
import { frozenCopy } from "../../internal/copy/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import type { Telemetry } from "../../telemetry/Telemetry.ts";
import { telemetrySchema } from "../../telemetry/telemetrySchema.ts";
import { checkedTransaction } from "./session/checkedTransaction.ts";
import { keepStore } from "./session/sessionStores.ts";
import { SessionStore } from "./session/SessionStore.ts";

/** Which session, and where it is stored. */
export interface PersistenceSessionOptions {
  /** Any storage of this library with a log: not a provider of three methods. */
  readonly storage: LogPersistenceStorageProvider;
  /** The name of the session. Agents and sessions of one name do not meet. */
  readonly sessionId: string;
  /** Shows changes and prunings of the session, such as `openTelemetry()` of `agent-persistence/otel`. Default: nothing is shown. */
  readonly telemetry?: Telemetry | undefined;
}

const optionsSchema = strictOptions({
  storage: z.instanceof(LogPersistenceStorageProvider, {
    error: "expected a storage with a log, such as FilePersistenceStorageProvider",
  }),
  sessionId: nonEmptyString,
  telemetry: telemetrySchema.optional(),
});

const items = z.array(z.looseObject({}));
const replacement = z.looseObject({ type: z.literal("function_call") });
const mutation = strictOptions({ type: z.literal("replace_function_call"), callId: z.string(), replacement });
const mutationsSchema = z.looseObject({ mutations: z.array(mutation) });

/**
 * A session of OpenAI Agents in a storage of this library: one session is one log. Each change is one append, durable when its
 * promise resolves; the stored bytes grow with what is added. Processes may share a session: one that is idle gives it to
 * another.
 */
export class PersistenceSession
  implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession, AsyncDisposable
{
  readonly #sessionId: string;
  readonly #store: SessionStore;

  /** @throws InvalidInputError */
  constructor(options: PersistenceSessionOptions) {
    checkSchema(optionsSchema, options, "options of a PersistenceSession");
    const { storage, sessionId, telemetry } = options;
    this.#sessionId = sessionId;
    this.#store = new SessionStore(storage, sessionId, telemetry);
    keepStore(this, this.#store);
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  /**
   * The items, in order. Takes no ownership.
   *
   * @param limit only so many, the last ones. Absent: all.
   * @throws CorruptLogError when the session is damaged.
   */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    return this.#store.items(limit);
  }

  /**
   * Adds items to the end.
   *
   * @throws NotSerializableError for an item that could not be restored; AgentBusyError while another process changes the
   * session for longer than a moment. Nothing was added then.
   */
  async addItems(added: AgentInputItem[]): Promise<void> {
    checkSchema(items, added, "items of a session");
    await this.#store.change({ type: "add", items: frozenCopy(added) });
  }

  /** Removes the last item. @returns it; `undefined` if there was none. @throws as {@link addItems} */
  async popItem(): Promise<AgentInputItem | undefined> {
    return this.#store.pop();
  }

  /** Removes all items, and forgets which transactions were applied. @throws as {@link addItems} */
  async clearSession(): Promise<void> {
    await this.#store.change({ type: "clear" });
  }

  /** Replaces all items in one append, as a compaction does. @throws as {@link addItems} */
  async replaceHistoryWithCompaction(replaced: AgentInputItem[]): Promise<void> {
    checkSchema(items, replaced, "items of a session");
    await this.#store.change({ type: "replace", items: frozenCopy(replaced) });
  }

  /** Replaces function calls by their `callId`, all in one append. @throws InvalidInputError; otherwise as {@link addItems} */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    checkSchema(mutationsSchema, args, "mutations of a session");
    await this.#store.mutate(frozenCopy(args.mutations));
  }

  /**
   * Applies a transaction once, however often it is repeated: its id is in the same append.
   *
   * @throws SessionConflictError when the id stands for another transaction, or the session ends with other items than
   * expected; InvalidInputError; otherwise as {@link addItems}. Nothing was changed then.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = await checkedTransaction(args);
    await this.#store.transact(operationId, transaction);
  }

  /** Removes what was replaced or removed from the storage. @returns how many bytes went. */
  async prune(): Promise<{ readonly bytes: number }> {
    return this.#store.prune();
  }

  /** Gives the session back. It may be used again afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
  }
}
