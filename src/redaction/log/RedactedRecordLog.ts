import type { Entry } from "../../checkpoint/records/Entry.ts";
import { InvalidAgentIdError } from "../../errors/agentErrors.ts";
import { includesText, utf8 } from "../../internal/bytes.ts";
import type { DataKey } from "../../encryption/keys/DataKey.ts";
import { type DataKeys, ownedKeyId } from "../../encryption/keys/DataKeys.ts";
import { isKeyLogId, keyStatus, unlessStorageFailed } from "../../encryption/keys/KeyLog.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { isAboutOneAgent, unreadableSummary } from "../../storage/summaries.ts";
import type { SecretsOfAgents } from "../values/KnownSecrets.ts";
import { redactedText, type RedactionRules, shownText } from "../values/RedactionRules.ts";
import { AppendRedactor, type RedactedAppend } from "./AppendRedactor.ts";
import { RedactedBlobs } from "./RedactedBlobs.ts";
import { RedactedOwnedLog } from "./RedactedOwnedLog.ts";
import { startOfTokens, tokenOf, hasTokensOf, restoredValue } from "./redactedToken.ts";
import { withoutMark, withoutSecrets } from "./vaultMark.ts";

export interface RedactedRecordLogOptions {
  readonly keys: DataKeys;
  readonly rules: RedactionRules;
  readonly secrets: SecretsOfAgents;
  readonly sha256: () => Promise<Sha256>;
}

type Receive = NonNullable<RecordLog["receive"]>;

/**
 * Encrypts the redacted values and the blobs of a log. The log below has tokens, readers of this log get the values.
 */
export class RedactedRecordLog implements RecordLog {
  readonly version = "v1";
  readonly blobs: BlobStore;
  readonly keys: DataKeys;
  readonly encodedAppends?: NonNullable<RecordLog["encodedAppends"]>;
  readonly receive?: Receive;
  readonly unremovedBytes?: NonNullable<RecordLog["unremovedBytes"]>;
  readonly end?: NonNullable<RecordLog["end"]>;
  readonly watch?: NonNullable<RecordLog["watch"]>;
  readonly makeRoom?: NonNullable<RecordLog["makeRoom"]>;
  readonly #log: RecordLog;
  readonly #rules: RedactionRules;
  readonly #secrets: SecretsOfAgents;
  /** The redactors of the logs that this process owns. */
  readonly #owned = new Map<string, AppendRedactor>();
  /** The agents of the appends that were read here. A log that receives them is a fork. */
  readonly #sources = new WeakMap<Uint8Array, string>();

  constructor(log: RecordLog, { keys, rules, secrets, sha256 }: RedactedRecordLogOptions) {
    this.#log = log;
    this.#rules = rules;
    this.#secrets = secrets;
    this.keys = keys;
    this.blobs = new RedactedBlobs(log.blobs, keys, {
      keyForWriting: (agentId) => this.keyForWriting(agentId),
      sha256,
      valuesOf: (agentId) => secrets.of(agentId).blobs,
    });
    // Copies keep their bytes, and with them the tokens.
    if (log.encodedAppends) this.encodedAppends = (...given) => this.#noted(log.encodedAppends?.(...given), given[0]);
    if (log.receive) this.receive = (...given) => this.#receive(...given);
    if (log.unremovedBytes) this.unremovedBytes = log.unremovedBytes.bind(log);
    if (log.end) this.end = log.end.bind(log);
    if (log.watch) this.watch = log.watch.bind(log);
    if (log.makeRoom) this.makeRoom = log.makeRoom.bind(log);
  }

  get capabilities(): LogCapabilities {
    return { ...this.#log.capabilities, redacted: true };
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    assertNoKeyLog(agentId);
    const owned = await this.#log.open(agentId, owner);
    try {
      if (!owned.damage) await this.#prepareKey(agentId, owner);
    } catch (error) {
      await owned.release().catch(() => {});
      throw error;
    }
    return this.#own(agentId, owned);
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    assertNoKeyLog(agentId);
    // Readers keep heads for a later owner, which reads only what follows.
    const redactor = this.#redactorOf(agentId);
    for await (const entry of this.#log.read(agentId, options)) {
      const restored: unknown[] = [];
      const records = await restoredValue(this.keys, agentId, entry.records, (value) => restored.push(value));
      (this.#owned.get(agentId) ?? redactor).learn(records, restored);
      yield records === entry.records ? entry : { ...entry, records: records.map(withoutSecrets).map(withoutMark) };
    }
  }

  async *list(options: ListOptions = {}): AsyncGenerator<AgentSummary> {
    for await (const summary of this.#log.list(options))
      if (summary.status !== keyStatus) yield await this.#restored(summary);
  }

  owner(agentId: string): ReturnType<RecordLog["owner"]> {
    return this.#log.owner(agentId);
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    return this.#log.requestStop(agentId, await this.#storedReason(agentId, reason));
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  /** Returns the key for new data of an agent. @throws KeyMissingError */
  keyForWriting(agentId: string): Promise<DataKey> {
    return this.keys.writing(agentId, () => this.#hasTokens(agentId));
  }

  /** Destroys the key of an agent that no process runs. @throws AgentBusyError */
  async destroyKey(agentId: string): Promise<void> {
    assertNoKeyLog(agentId);
    const owned = await this.#log.open(agentId, processOwner());
    try {
      await this.keys.destroy(agentId);
    } finally {
      await owned.release();
    }
  }

  async *#noted(appends: AsyncIterable<Uint8Array> | undefined, agentId: string): AsyncGenerator<Uint8Array> {
    for await (const append of appends ?? []) {
      this.#sources.set(append, agentId);
      yield append;
    }
  }

  async #receive(...[agentId, owner, received, last]: Parameters<Receive>): Promise<OwnedLog> {
    assertNoKeyLog(agentId);
    const redactor = this.#redactorOf(agentId);
    const originals = new Set<string | undefined>();
    const sources = this.#sources;
    const tokensOfAgent = startOfTokens(agentId);
    let hasTokens = false;
    const appends = async function* (): AsyncGenerator<Uint8Array> {
      for await (const append of received.appends) {
        originals.add(sources.get(append));
        hasTokens ||= includesText(append, tokensOfAgent);
        yield append;
      }
    };
    const redacted: typeof last = async (end) => {
      // Restored tokens need the key that the agent had.
      if (!hasTokens) await this.#prepareKey(agentId, owner);
      const [original] = originals;
      // The tokens of a fork stay readable for it.
      if (originals.size === 1 && original !== undefined && (await this.keys.find(original)))
        await this.keys.writing(agentId, async () => false, original);
      return this.#encrypted(agentId, redactor.redact(await last(end), true), hasTokens);
    };
    const owned = await this.#log.receive?.(agentId, owner, { ...received, appends: appends() }, redacted);
    return this.#own(agentId, owned as OwnedLog);
  }

  #own(agentId: string, owned: OwnedLog): OwnedLog {
    this.#secrets.open(agentId);
    const redactor = this.#redactorOf(agentId);
    this.#owned.set(agentId, redactor);
    return new RedactedOwnedLog(agentId, owned, {
      redact: (append) => redactor.redact(append),
      readBlobs: async (references) => {
        for (const reference of references) await this.blobs.get(agentId, reference).catch(unlessStorageFailed);
      },
      encrypt: (redacted) => this.#encrypted(agentId, redacted),
      openReason: (reason) => this.#restoredReason(agentId, reason),
      keyId: () => ownedKeyId(this.#log, this.keys, { agentId, generation: owned.generation }),
      dropped: (keyId) => {
        // A later agent with this id must not store them.
        this.#secrets.forget(agentId);
        return this.keys.destroy(agentId, keyId);
      },
      ended: () => {
        if (this.#owned.get(agentId) !== redactor) return;
        this.#owned.delete(agentId);
        this.#secrets.close(agentId);
      },
    });
  }

  #redactorOf(agentId: string): AppendRedactor {
    return new AppendRedactor(this.#rules, this.#secrets.of(agentId));
  }

  async #encrypted(agentId: string, { append, hidden }: RedactedAppend, hasTokens?: boolean): Promise<LogAppend> {
    if (hidden.length === 0) return append;
    const key = await this.keys.writing(agentId, async () => hasTokens ?? this.#hasTokens(agentId));
    for (const value of hidden) value.token = await tokenOf(key, agentId, utf8(value.json), value.shown);
    return JSON.parse(JSON.stringify(append)) as LogAppend;
  }

  /** A process that cannot read the key of the agent can still stop it. */
  async #storedReason(agentId: string, reason: string): Promise<string> {
    const key = await this.keys.find(agentId).catch(unlessStorageFailed);
    if (key) return tokenOf(key, agentId, utf8(JSON.stringify(reason)));
    return this.#secrets.of(agentId).isIn(reason) ? redactedText : shownText(this.#rules, reason);
  }

  /** A request to stop counts even if its reason cannot be read. */
  async #restoredReason(agentId: string, stored: string): Promise<string> {
    const reason: unknown = await restoredValue(this.keys, agentId, stored).catch(() => undefined);
    return typeof reason === "string" ? reason : redactedText;
  }

  async #restored(summary: AgentSummary): Promise<AgentSummary> {
    try {
      return await restoredValue(this.keys, summary.agentId, summary);
    } catch (error) {
      if (!isAboutOneAgent(error)) throw error;
      return { ...unreadableSummary(summary.agentId, error), order: summary.order };
    }
  }

  /** Encrypts the key of an agent with the current key of the source. A new agent destroys the key of a deleted one. */
  async #prepareKey(agentId: string, { nonce }: LogOwner): Promise<void> {
    if (await this.#hasData(agentId)) return void (await this.keys.refresh(agentId).catch(unlessStorageFailed));
    const keyId = await this.keys.storedId(agentId);
    // The key has no data if this process owned the log before and after the key was read.
    if (keyId !== undefined && (await this.#log.owner(agentId))?.nonce === nonce)
      await this.keys.destroy(agentId, keyId);
  }

  async #hasData(agentId: string): Promise<boolean> {
    try {
      for await (const _ of this.#log.read(agentId)) return true;
      return false;
    } catch (error) {
      return unlessStorageFailed(error) ?? true;
    }
  }

  async #hasTokens(agentId: string): Promise<boolean> {
    for await (const { records } of this.#log.read(agentId)) if (hasTokensOf(agentId, records)) return true;
    return false;
  }
}

/** @throws InvalidAgentIdError for an id that belongs to a data key. */
function assertNoKeyLog(agentId: string): void {
  if (isKeyLogId(agentId)) throw new InvalidAgentIdError(agentId, "the id of a data key");
}
