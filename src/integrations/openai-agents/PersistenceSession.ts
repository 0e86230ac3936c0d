import {
  type AgentInputItem,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession,
  MemorySession,
  UserError,
} from "@openai/agents-core";
import { z } from "zod";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import { type Telemetry, telemetrySchema } from "../../telemetry/Telemetry.ts";
import { SessionStore, keepStore } from "./session/SessionStore.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";

/** Options of a `PersistenceSession`. */
export interface PersistenceSessionOptions {
  /** The storage. A provider with only the three basic methods is not supported, because a session needs a log. */
  readonly storage: LogPersistenceStorageProvider;
  /** The name of the session. Agents and sessions have separate namespaces. */
  readonly sessionId: string;
  /** Reports changes and prunings, for example to `openTelemetry()`. Defaults to no telemetry. */
  readonly telemetry?: Telemetry | undefined;
}

const optionsSchema = strictOptions(() => ({
  storage: z.instanceof(LogPersistenceStorageProvider, {
    error: "expected a storage with a log, such as FilePersistenceStorageProvider",
  }),
  sessionId: nonEmptyString,
  telemetry: telemetrySchema.optional(),
}));

const items = z.array(z.looseObject({}));
const replacement = z.looseObject({ type: z.literal("function_call") });
const mutation = strictOptions(() => ({ type: z.literal("replace_function_call"), callId: z.string(), replacement }));
const mutationsSchema = z.looseObject({ mutations: z.array(mutation) });

/**
 * An OpenAI Agents session in a storage of this library. Each session is one log. Each change is one append, and is
 * durable when the promise of the call resolves. Several processes can share a session: an idle process releases it.
 *
 * @example
 * ```ts
 * await using session = new PersistenceSession({ storage, sessionId: "order-8" });
 * const result = await runner.run(desk, "Refund order 8.", { agentId: "order-8", session });
 * ```
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
   * Returns the items in order without owning the session.
   *
   * @param limit the number of items to return from the end. Defaults to all.
   * @throws CorruptLogError if the session is damaged
   */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    return this.#store.items(limit);
  }

  /**
   * Appends items. If the call rejects, no item was added.
   *
   * @throws NotSerializableError for an item that could not be restored
   * @throws AgentBusyError if another process keeps changing the session
   */
  async addItems(added: AgentInputItem[]): Promise<void> {
    checkSchema(items, added, "items of a session");
    await this.#store.change({ type: "add", items: frozenCopy(added) });
  }

  /** Removes and returns the last item. `undefined` if the session is empty. @throws the errors of {@link addItems} */
  async popItem(): Promise<AgentInputItem | undefined> {
    return this.#store.pop();
  }

  /**
   * Removes all items and the ids of applied transactions, even if the data key of an encrypted session was destroyed.
   *
   * @throws the errors of {@link addItems}
   */
  async clearSession(): Promise<void> {
    await this.#store.clear();
  }

  /** Replaces all items in one append. @throws the errors of {@link addItems} */
  async replaceHistoryWithCompaction(replaced: AgentInputItem[]): Promise<void> {
    checkSchema(items, replaced, "items of a session");
    await this.#store.change({ type: "replace", items: frozenCopy(replaced) });
  }

  /** Replaces function calls by `callId` in one append. @throws InvalidInputError, the errors of {@link addItems} */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    checkSchema(mutationsSchema, args, "mutations of a session");
    await this.#store.mutate(frozenCopy(args.mutations));
  }

  /**
   * Applies a transaction at most once, because its id is stored with it. A rejected call made no change.
   *
   * @throws SessionConflictError if the id belongs to another transaction or the last items differ
   * @throws InvalidInputError, or the errors of {@link addItems}
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = await checkedTransaction(args);
    await this.#store.transact(operationId, transaction);
  }

  /** Deletes removed and replaced items from the storage. @returns the number of bytes freed */
  async prune(): Promise<{ readonly bytes: number }> {
    return this.#store.prune();
  }

  /** Releases the session. The session can be used again afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
  }
}

/**
 * Returns a copy of a valid transaction. The SDK's own session validates the transaction, so the rules are the same.
 *
 * @throws InvalidInputError, which contains no content of the transaction
 */
async function checkedTransaction(args: SessionHistoryTransactionArgs): Promise<SessionHistoryTransactionArgs> {
  const read = readOnce(args);
  const { transaction } = read;
  try {
    const items = transaction?.type === "replace_suffix" ? transaction.expectedSuffix : [];
    const session = new MemorySession({ initialItems: Array.isArray(items) ? items : [], logger: silent });
    await session.applyHistoryTransaction(read);
    return frozenCopy(read);
  } catch (error) {
    throw refusal(error instanceof UserError ? error.message : unsupported);
  }
}

const unsupported = "Session history transaction items contain invalid or unsupported data.";
const ignore = () => {};
const silent = {
  namespace: "agent-persistence",
  debug: ignore,
  error: ignore,
  warn: ignore,
  dontLogModelData: true,
  dontLogToolData: true,
};

/** Reads each field once, because it can be a getter that returns another value the next time. */
function readOnce(args: SessionHistoryTransactionArgs): SessionHistoryTransactionArgs {
  try {
    const { operationId, transaction } = args;
    return { operationId, transaction };
  } catch {
    throw refusal("Session history transaction arguments are invalid.");
  }
}

function refusal(expected: string): InvalidInputError {
  return new InvalidInputError("transaction of a session", [{ path: "transaction", expected }]);
}
