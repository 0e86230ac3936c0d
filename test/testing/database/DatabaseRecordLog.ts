import type { Entry } from "../../../src/checkpoint/records/Entry.ts";
import { AgentBusyError, StorageClosedError } from "../../../src/errors/storageErrors.ts";
import { CorruptBlobError, CorruptLogError } from "../../../src/errors/storedDataErrors.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import type { BlobStore } from "../../../src/storage/BlobStore.ts";
import { formatBlobReference } from "../../../src/storage/blobs.ts";
import type {
  AgentSummary,
  ListOptions,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../../../src/storage/RecordLog.ts";
import { selectSummaries } from "../../../src/storage/summaries.ts";
import { ask, type Connection, leaseMs } from "./Connection.ts";
import type { Database, Row } from "./Database.ts";
import { DatabaseOwnedLog } from "./DatabaseOwnedLog.ts";

/** A log in tables, as an author of a backend might write it: for many processes, which judge leases by one clock. */
export class DatabaseRecordLog implements RecordLog {
  readonly version = "v1";
  readonly capabilities = { durable: true, processes: "many", machines: "many", listing: "exact" } as const;
  readonly blobs: BlobStore;
  readonly #connection: Connection;
  readonly #owned = new Set<DatabaseOwnedLog>();
  #closed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.blobs = new DatabaseBlobStore(connection.database);
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    const { database, time } = this.#opened();
    const given = { ...owner };
    const claim = () => database.claim(agentId, given, time.monotonic(), leaseMs);
    const generation = await ask("claim", agentId, () => database.write(claim));
    if (generation === undefined) {
      const { owner: busy = owner, generation: at, expiresAt } = database.agent(agentId);
      throw new AgentBusyError(agentId, { ...busy, generation: at }, expiresAt - time.monotonic());
    }
    const { position, checksum } = await ask("select", agentId, () => database.select(() => database.agent(agentId)));
    const owned = new DatabaseOwnedLog(this.#connection, agentId, generation, { position, checksum });
    this.#owned.add(owned);
    return owned;
  }

  async *read(agentId: string, { after = 0, upTo = Infinity, sinceSnapshot = false }: ReadOptions = {}) {
    const { database } = this.#opened();
    const rows = await database.select(() => [...database.rowsOf(agentId)]);
    const snapshot = rows.findLast((row) => row.snapshot && row.position <= upTo);
    const from = Math.max(after, sinceSnapshot && snapshot ? snapshot.position - 1 : 0);
    for (const row of rows.filter(({ position }) => position > from && position <= upTo)) {
      if (!database.isIntact(row))
        throw new CorruptLogError(agentId, { file: "rows" }, `a checksum that differs at ${row.position}`);
      if (!database.isPruned(agentId, row.position)) yield entryOf(row);
    }
  }

  async *list(options: ListOptions = {}): AsyncGenerator<AgentSummary> {
    const { database } = this.#opened();
    const all = await database.select(() => [...database.agents.values()].flatMap(({ summary }) => summary ?? []));
    yield* selectSummaries(structuredClone(all), options);
  }

  async unremovedBytes(agentId: string): Promise<number> {
    const { database } = this.#opened();
    const left = database.rowsOf(agentId).filter(({ position }) => database.isPruned(agentId, position));
    return left.reduce((sum, { body }) => sum + body.length, 0);
  }

  async owner(agentId: string): ReturnType<RecordLog["owner"]> {
    const { database, time } = this.#opened();
    const { owner, generation, expiresAt } = await database.select(() => database.agent(agentId));
    return owner && { ...owner, generation, state: expiresAt > time.monotonic() ? "alive" : "silent" };
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    const { database } = this.#opened();
    await ask("update", agentId, () => database.write(() => database.requestStop(agentId, reason)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#owned].map((owned) => owned.release()));
  }

  #opened(): Connection {
    if (this.#closed) throw new StorageClosedError("The database");
    return this.#connection;
  }
}

function entryOf({ position, generation, id, prev, checksum, body }: Row): Entry {
  return { position, generation, id, records: JSON.parse(body.toString()) as Entry["records"], prev, checksum };
}

/** Blobs in a table, by agent and reference. */
class DatabaseBlobStore implements BlobStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    const copy = Buffer.from(bytes);
    const reference = formatBlobReference({ hash: nodeSha256.hex(copy), generation, encoding });
    const { blobs } = this.#database;
    const upsert = () => blobs.set(agentId, new Map(blobs.get(agentId)).set(reference, copy));
    await ask("insert", agentId, () => this.#database.write(upsert));
    return reference;
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#database.select(() => this.#database.blobs.get(agentId)?.get(reference));
    if (bytes === undefined) return undefined;
    if (!this.#database.isIntactBlob(reference, bytes)) throw new CorruptBlobError(agentId, reference);
    return Uint8Array.from(bytes);
  }

  async delete(agentId: string, reference: string): Promise<void> {
    await ask("delete", agentId, () =>
      this.#database.write(() => this.#database.blobs.get(agentId)?.delete(reference)),
    );
  }
}
