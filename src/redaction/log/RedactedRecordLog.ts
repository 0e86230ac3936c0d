import type { Entry } from "../../checkpoint/records/Entry.ts";
import { includesText, utf8 } from "../../internal/bytes.ts";
import type { DataKeys } from "../../encryption/keys/DataKeys.ts";
import { assertNoKeyLog, type KeyedLogContext, KeyedOwnedLog, KeyedRecordLog } from "../../encryption/keys/KeyedLog.ts";
import { unlessStorageFailed } from "../../encryption/keys/KeyLog.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type { Receive } from "../../storage/LogWrapper.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogCapabilities,
  OwnedLog,
  ReadOptions,
  ReceiveArguments,
  RecordLog,
} from "../../storage/RecordLog.ts";
import { isAboutOneAgent, keyStatus, unreadableSummary } from "../../storage/summaries.ts";
import type { SecretsOfAgents } from "../values/KnownSecrets.ts";
import { redactedText, type RedactionRules, shownText } from "../values/ValueWalk.ts";
import { AppendRedactor, type RedactedAppend } from "./AppendRedactor.ts";
import { RedactedBlobs } from "./RedactedBlobs.ts";
import { startOfTokens, tokenOf, hasTokensOf, restoredValue } from "./redactedToken.ts";
import { withoutMark, withoutSecrets } from "./vaultMark.ts";
import type { z } from "zod";
import { encryptedStreams } from "../../encryption/encryptedStreams.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import type { StreamStore } from "../../streams/store/StreamStore.ts";

interface RedactedRecordLogOptions {
  readonly keys: DataKeys;
  readonly rules: RedactionRules;
  readonly secrets: SecretsOfAgents;
  readonly sha256: () => Promise<Sha256>;
}

/** Encrypts the redacted values and the blobs of a log. The wrapped log stores tokens in place of the values. */
export class RedactedRecordLog extends KeyedRecordLog<RedactedOwnedLog> {
  readonly blobs: BlobStore;
  readonly encodedAppends?: NonNullable<RecordLog["encodedAppends"]>;
  readonly #rules: RedactionRules;
  readonly #secrets: SecretsOfAgents;
  /** The agent of each append that was read here. A log that receives the appends is a fork of that agent. */
  readonly #sources = new WeakMap<Uint8Array, string>();

  constructor(log: RecordLog, { keys, rules, secrets, sha256 }: RedactedRecordLogOptions) {
    super(log, keys);
    this.#rules = rules;
    this.#secrets = secrets;
    this.blobs = new RedactedBlobs(log.blobs, keys, {
      keyForWriting: (agentId) => this.keyForWriting(agentId),
      sha256,
      valuesOf: (agentId) => secrets.of(agentId).blobs,
    });
    // Copied appends keep their bytes, including the tokens.
    if (log.encodedAppends) this.encodedAppends = (...given) => this.#noted(log.encodedAppends?.(...given), given[0]);
  }

  override get capabilities(): LogCapabilities {
    return { ...this.stored.capabilities, redacted: true };
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    assertNoKeyLog(agentId);
    // Every reader learns secrets, because it may pass its state to a later owner that reads only new appends.
    const redactor = this.#redactorOf(agentId);
    for await (const entry of this.stored.read(agentId, options)) {
      const restored: unknown[] = [];
      const records = await restoredValue(this.keys, agentId, entry.records, (value) => restored.push(value));
      (this.owned.get(agentId)?.redactor ?? redactor).learn(records, restored);
      yield records === entry.records ? entry : { ...entry, records: records.map(withoutSecrets).map(withoutMark) };
    }
  }

  override async *list(options: ListOptions = {}): AsyncGenerator<AgentSummary> {
    for await (const summary of this.stored.list(options))
      if (summary.status !== keyStatus) yield await this.#restored(summary);
  }

  override async requestStop(agentId: string, reason: string): Promise<void> {
    return this.stored.requestStop(agentId, await this.#storedReason(agentId, reason));
  }

  async *#noted(appends: AsyncIterable<Uint8Array> | undefined, agentId: string): AsyncGenerator<Uint8Array> {
    for await (const append of appends ?? []) {
      this.#sources.set(append, agentId);
      yield append;
    }
  }

  protected async receiveWith(
    receive: Receive,
    ...[agentId, owner, received, last]: ReceiveArguments
  ): Promise<OwnedLog> {
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
      // A restored agent needs its earlier key, because its appends contain tokens of that key.
      if (!hasTokens) await this.prepareKey(agentId, owner);
      const [original] = originals;
      // A fork needs the key of its original to read the tokens.
      if (originals.size === 1 && original !== undefined && (await this.keys.find(original)))
        await this.keys.writing(agentId, async () => false, original);
      return this.#encrypted(agentId, redactor.redact(await last(end), true), hasTokens);
    };
    const owned = await receive(agentId, owner, { ...received, appends: appends() }, redacted);
    return this.own(agentId, this.wrap(agentId, owned));
  }

  protected wrap(agentId: string, owned: OwnedLog): RedactedOwnedLog {
    this.#secrets.open(agentId);
    const keyContext = this.keyContext(agentId, owned);
    return new RedactedOwnedLog(agentId, owned, {
      ...keyContext,
      redactor: this.#redactorOf(agentId),
      readBlobs: async (references) => {
        for (const reference of references) await this.blobs.get(agentId, reference).catch(unlessStorageFailed);
      },
      encrypt: (redacted) => this.#encrypted(agentId, redacted),
      openReason: (reason) => this.#restoredReason(agentId, reason),
      dropped: (keyId) => {
        // A later agent with this id must not store these secrets.
        this.#secrets.forget(agentId);
        return keyContext.dropped(keyId);
      },
    });
  }

  protected override forget(agentId: string): void {
    super.forget(agentId);
    this.#secrets.close(agentId);
  }

  #redactorOf(agentId: string): AppendRedactor {
    return new AppendRedactor(this.#rules, this.#secrets.of(agentId));
  }

  async #encrypted(agentId: string, { append, hidden }: RedactedAppend, hasTokens?: boolean): Promise<LogAppend> {
    if (hidden.length === 0) return append;
    const key = await this.keys.writing(agentId, async () => hasTokens ?? this.usesKey(agentId));
    for (const value of hidden) value.token = await tokenOf(key, agentId, utf8(value.json), value.shown);
    return JSON.parse(JSON.stringify(append)) as LogAppend;
  }

  /** Returns the reason in stored form. If the agent's key cannot be read, the reason is redacted. */
  async #storedReason(agentId: string, reason: string): Promise<string> {
    const key = await this.keys.find(agentId).catch(unlessStorageFailed);
    if (key) return tokenOf(key, agentId, utf8(JSON.stringify(reason)));
    return this.#secrets.of(agentId).isIn(reason) ? redactedText : shownText(this.#rules, reason);
  }

  /** Returns a readable reason. A request to stop is valid even if its reason cannot be read. */
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

  protected async usesKey(agentId: string): Promise<boolean> {
    for await (const { records } of this.stored.read(agentId)) if (hasTokensOf(agentId, records)) return true;
    return false;
  }
}

interface RedactedLogContext extends KeyedLogContext {
  readonly redactor: AppendRedactor;
  /** Reads blobs to learn their secrets. */
  readonly readBlobs: (references: readonly string[]) => Promise<void>;
  readonly encrypt: (redacted: RedactedAppend) => Promise<LogAppend>;
}

class RedactedOwnedLog extends KeyedOwnedLog {
  readonly #context: RedactedLogContext;
  /** The number of appends that wait until the secrets of their blobs are read. Later appends wait too. */
  #reading = 0;

  constructor(agentId: string, owned: OwnedLog, context: RedactedLogContext) {
    super(agentId, owned, context);
    this.#context = context;
  }

  get redactor(): AppendRedactor {
    return this.#context.redactor;
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (this.failed) throw this.failed.error;
    const redacted = this.#redacted(entry);
    if (redacted.unread.length > 0 || this.#reading > 0)
      return this.#appendRead(entry, expectedPosition, redacted.unread);
    if (redacted.hidden.length === 0 && this.waiting === 0) return this.owned.append(entry, expectedPosition);
    // Copied before the first await, because the caller may change the append afterwards.
    const copy = redacted.hidden.length > 0 ? redacted : { ...redacted, append: structuredClone(entry) };
    return this.waitingTurn(async () =>
      this.owned.append(await this.orFail(() => this.#context.encrypt(copy)), expectedPosition),
    );
  }

  async #appendRead(entry: LogAppend, expectedPosition: number, unread: readonly string[]): Promise<number> {
    const copy = structuredClone(entry);
    this.#reading++;
    return this.waitingTurn(async () => {
      try {
        const stored = await this.orFail(async () => {
          await this.#context.readBlobs(unread);
          return this.#context.encrypt(this.redactor.redact(copy));
        });
        return await this.owned.append(stored, expectedPosition);
      } finally {
        this.#reading--;
      }
    });
  }

  #redacted(entry: LogAppend): RedactedAppend {
    try {
      return this.redactor.redact(entry);
    } catch (error) {
      this.failed = { error };
      throw error;
    }
  }
}

/** A tool of any runtime, whose schema can contain `secret()`. */
export interface SecretTool {
  readonly name: string;
  readonly inputSchema: z.core.$ZodType;
}

export class RedactedStorage extends LogPersistenceStorageProvider {
  /** Redacts the fields that `secret()` marks in the schemas of tools. */
  readonly redactInputsOf: (tools: readonly SecretTool[]) => void;

  constructor(
    log: RecordLog,
    options: NonNullable<ConstructorParameters<typeof LogPersistenceStorageProvider>[1]>,
    redactInputsOf: (tools: readonly SecretTool[]) => void,
  ) {
    super(log, options);
    this.redactInputsOf = redactInputsOf;
  }

  /** Encrypts each chunk of a response as a whole, because two chunks can contain parts of one secret. */
  encryptedStreams(store: StreamStore): StreamStore {
    return encryptedStreams(store, this);
  }
}
