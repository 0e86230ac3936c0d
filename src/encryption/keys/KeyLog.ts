import { z } from "zod";
import { prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import { systemClock } from "../../internal/Clock.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { whileBusy } from "../../journal/shape/whileBusy.ts";
import type { AgentSummary, LogOwner, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { keyStatus, orderBehindAgents, unreadable } from "../../storage/summaries.ts";

export interface StoredKey {
  readonly kind: "data_key";
  readonly agentId: string;
  readonly id: string;
  /** The id of the key in the key source that encrypted the data key. */
  readonly keyId: string;
  /** The encrypted data key, in base64url. */
  readonly wrapped: string;
  /** The agents from which this agent was forked, whose redacted values were copied to it. */
  readonly forkOf?: readonly string[] | undefined;
}

const storedKeySchema = z.object({
  kind: z.literal("data_key"),
  agentId: z.string(),
  id: z.string().min(1),
  keyId: z.string().min(1),
  wrapped: z.string().min(1),
  forkOf: z.array(z.string()).optional(),
});

/** Sorts behind all agents, threads and sessions, so that lists can stop at the first key. */
const orderBehindAll = `${orderBehindAgents}~`;
/** Sorts directly behind all keys. */
export const orderBehindKeys = `${orderBehindAll}!`;
/** The maximum time to wait for the log of a key, which exceeds the lease of a process killed elsewhere. */
const waitMs = 30_000;
const prefix = "data_key:";
const idOfUnreadableKey = "unreadable";
const longestId = 1_024;

/** Whether a log with this id would contain a data key. */
export function isKeyLogId(agentId: string): boolean {
  return agentId.startsWith(prefix);
}

/** Returns the id of the agent of a key log. If the log has only the hash of a long id, returns the id of the log. */
export function agentIdOf(logId: string): string {
  return logId.startsWith(`${prefix}#`) ? logId : logId.slice(prefix.length);
}

/**
 * The encrypted data keys of a storage. Each key has a separate log, so that it can be replaced and destroyed without
 * the agent's data. When such a log is dropped or pruned, the bytes of the key are removed.
 */
export class KeyLog {
  readonly #log: RecordLog;
  readonly #sha256: () => Promise<Sha256>;

  /** @throws NotSupportedError if the log is encrypted or redacted itself. */
  constructor(log: RecordLog, sha256: () => Promise<Sha256>) {
    const { archiveKeys, redacted } = log.capabilities;
    if (archiveKeys || redacted)
      throw new NotSupportedError("A data key", "a `keyStorage` without encryption and redaction");
    this.#log = log;
    this.#sha256 = sha256;
  }

  /** Returns the key of an agent, or `undefined` if it has none. @throws AuthenticationFailedError for damaged keys */
  async read(agentId: string): Promise<StoredKey | undefined> {
    let found: unknown;
    for await (const { records } of this.#log.read(await this.#idOf(agentId)))
      found = records.findLast(({ kind }) => kind === keyStatus) ?? found;
    return found === undefined ? undefined : storedKeyOf(agentId, found);
  }

  /** Stores the key of an agent, unless it has one. */
  async create(agentId: string, make: () => Promise<StoredKey>): Promise<void> {
    const isThere = async () => (await this.read(agentId)) !== undefined;
    await this.#owning(agentId, isThere, async (owned) => {
      if (await isThere()) return;
      const records = [await make()];
      await owned.append({ id: idOf(owned), records, summary: await this.#summary(agentId) }, owned.position);
    });
  }

  /** Replaces a key and removes its bytes. Does nothing if another process has replaced the key. */
  async replace(before: StoredKey, make: () => Promise<StoredKey>): Promise<void> {
    const { agentId } = before;
    await this.#owning(agentId, neverDone, async (owned) => {
      const entries = [];
      for await (const entry of this.#log.read(await this.#idOf(agentId))) entries.push(entry);
      const [first, last] = [entries[0], entries.at(-1)];
      if (!first || !last || (await this.read(agentId))?.wrapped !== before.wrapped) return;
      const made = await make();
      // This append removes the first entry, so its gap must include the gap that the first entry declares.
      const { first: start, before: prev } = prunedGapsOf(first.records)[0] ?? {
        first: first.position,
        before: first.prev,
      };
      const gap = { first: start, last: last.position, before: prev, after: last.checksum };
      const records = [made, { kind: "pruned", gaps: [gap] }];
      await owned.append({ id: idOf(owned), records, summary: await this.#summary(agentId) }, owned.position);
      await owned.prune();
    });
  }

  /** Removes the bytes of earlier keys, which remain if a crash interrupts a replacement. */
  async removeReplaced(agentId: string): Promise<void> {
    let wasReplaced = false;
    for await (const { records } of this.#log.read(await this.#idOf(agentId)))
      wasReplaced = prunedGapsOf(records).length > 0;
    // Not every storage reports remaining bytes, but a pruning removes them.
    if (wasReplaced) await this.#owning(agentId, neverDone, (owned) => owned.prune());
  }

  /** Returns the id of the key of an agent, or `undefined` if it has none. An unreadable key also has an id. */
  async keyIdOf(agentId: string): Promise<string | undefined> {
    try {
      return (await this.read(agentId))?.id;
    } catch (error) {
      return unlessStorageFailed(error) ?? idOfUnreadableKey;
    }
  }

  /** Removes the key of an agent with its bytes. With `id`, removes only the key with this id. */
  async destroy(agentId: string, id?: string): Promise<void> {
    const drop = async (owned: OwnedLog) => {
      if (id === undefined || (await this.keyIdOf(agentId)) === id) await owned.drop();
    };
    await this.#owning(agentId, neverDone, drop, { mustExist: true });
  }

  /** Returns the ids of the logs of all keys, even of damaged keys. */
  async *logIds(): AsyncGenerator<string> {
    for (const status of [keyStatus, unreadable])
      for await (const listed of this.#log.list({ status }))
        if (listed.status === status && isKeyLogId(listed.agentId)) yield listed.agentId;
  }

  /** Returns the agent of the key in a log, or `undefined` if it was destroyed. @throws AuthenticationFailedError */
  async agentIdIn(logId: string): Promise<string | undefined> {
    let found: unknown;
    for await (const { records } of this.#log.read(logId)) found = records[0] ?? found;
    if (found === undefined) return undefined;
    const parsed = storedKeySchema.safeParse(found);
    if (parsed.success && (await this.#idOf(parsed.data.agentId)) === logId) return parsed.data.agentId;
    throw changedKey(agentIdOf(logId));
  }

  async #owning<Result>(
    agentId: string,
    isDone: () => Promise<boolean>,
    work: (owned: OwnedLog) => Promise<Result>,
    owner: Pick<LogOwner, "mustExist"> = {},
  ): Promise<Result | undefined> {
    const id = await this.#idOf(agentId);
    const options = { clock: systemClock, timeoutMs: waitMs };
    const owned = await whileBusy(() => this.#log.open(id, { ...processOwner(), ...owner }), options, isDone);
    if (!owned) return undefined;
    try {
      return await work(owned);
    } finally {
      await owned.release();
    }
  }

  async #summary(agentId: string): Promise<AgentSummary> {
    const unknown = new Date(0).toISOString();
    return {
      agentId: await this.#idOf(agentId),
      status: keyStatus,
      order: `${orderBehindAll} ${agentId}`,
      requestIds: [],
      position: 0,
      createdAt: unknown,
      updatedAt: unknown,
      data: {},
    };
  }

  async #idOf(agentId: string): Promise<string> {
    const id = `${prefix}${agentId}`;
    return new TextEncoder().encode(id).length <= longestId ? id : `${prefix}#${(await this.#sha256()).hex(agentId)}`;
  }
}

async function neverDone(): Promise<boolean> {
  return false;
}

function idOf({ generation, position }: OwnedLog): string {
  return `${generation}-${position + 1}`;
}

function storedKeyOf(agentId: string, found: unknown): StoredKey {
  const parsed = storedKeySchema.safeParse(found);
  if (parsed.success && parsed.data.agentId === agentId) return parsed.data;
  throw changedKey(agentId);
}

function changedKey(agentId: string): AuthenticationFailedError {
  return new AuthenticationFailedError(agentId, undefined, "the record of its data key was changed");
}

/** Accepts an error about the data of one agent. @throws any other error, for example of the storage */
export function unlessStorageFailed(error: unknown): undefined {
  const isOfAgent = AgentPersistenceError.isInstance(error) && !error.code.startsWith("storage_");
  if (!isOfAgent) throw error;
}
