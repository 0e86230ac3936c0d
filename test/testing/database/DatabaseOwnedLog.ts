import { prunedGapsOf } from "../../../src/checkpoint/records/Entry.ts";
import { OwnershipLostError, PositionConflictError, StorageClosedError } from "../../../src/errors/storageErrors.ts";
import { StopRequestedError } from "../../../src/errors/runErrors.ts";
import type { LogAppend, OwnedLog } from "../../../src/storage/RecordLog.ts";
import { type AgentRow, checksumOf, type Row } from "./Database.ts";
import { ask, type Connection, leaseMs } from "./Connection.ts";

/** A log in tables that is owned. After the first failure it takes nothing more. */
export class DatabaseOwnedLog implements OwnedLog {
  readonly #connection: Connection;
  readonly #agentId: string;
  readonly #lost = new AbortController();
  #end: { readonly position: number; readonly checksum: string };
  #stopRenewing: () => void = () => {};
  #ended: Error | undefined;

  constructor(
    connection: Connection,
    agentId: string,
    readonly generation: number,
    end: Pick<AgentRow, "position" | "checksum">,
  ) {
    this.#connection = connection;
    this.#agentId = agentId;
    this.#end = end;
    this.#renewLater();
  }

  get position(): number {
    return this.#end.position;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async append({ id, records, summary, snapshot = false }: LogAppend, expectedPosition: number): Promise<number> {
    this.#assertOwned();
    const { database } = this.#connection;
    const { position, checksum: prev } = this.#end;
    const body = Buffer.from(JSON.stringify(records));
    const kept = structuredClone(summary);
    if (expectedPosition !== position) return this.#acknowledgeAgain(id, expectedPosition);
    const fields = { position: position + 1, generation: this.generation, id, prev, body, snapshot };
    const row: Row = { ...fields, checksum: checksumOf(fields) };
    const insert = () => database.insert(this.#agentId, row, kept, prunedGapsOf(records));
    const outcome = await this.#orEnd(() => ask("insert", this.#agentId, () => database.write(insert)));
    if (outcome === "replaced") throw this.#lose();
    if (outcome === "conflict") throw new PositionConflictError(this.#agentId, expectedPosition, position);
    this.#end = { position: row.position, checksum: row.checksum };
    return row.position;
  }

  async checkStop(): Promise<void> {
    if (this.#ended === undefined) await this.#connection.database.select(() => this.#noticeStop());
  }

  async prune(): Promise<void> {
    this.#assertOwned();
    const { database } = this.#connection;
    const remove = () => database.removePruned(this.#agentId, this.generation);
    if (!(await ask("delete", this.#agentId, () => database.write(remove)))) throw this.#lose();
  }

  async drop(): Promise<void> {
    this.#assertOwned();
    const { database } = this.#connection;
    const remove = () => database.remove(this.#agentId, this.generation);
    if (!(await ask("delete", this.#agentId, () => database.write(remove)))) throw this.#lose();
    this.#finish(new StorageClosedError("The dropped log"));
  }

  async release(): Promise<void> {
    if (this.#ended instanceof StorageClosedError) return;
    this.#finish(new StorageClosedError("The released log"));
    const { database } = this.#connection;
    await ask("update", this.#agentId, () => database.write(() => database.free(this.#agentId, this.generation)));
  }

  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    const { database } = this.#connection;
    const rows = await database.select(() => database.rowsOf(this.#agentId));
    const stored = rows.find((row) => row.position === expectedPosition + 1);
    if (stored?.id === id) return stored.position;
    throw new PositionConflictError(this.#agentId, expectedPosition, this.position);
  }

  #renewLater(): void {
    const { clock } = this.#connection;
    this.#stopRenewing = clock.after(leaseMs / 3, () => void this.#renew(), true);
  }

  async #renew(): Promise<void> {
    const { database, time } = this.#connection;
    const renew = () => database.renew(this.#agentId, this.generation, time.monotonic() + leaseMs);
    const isOwner = await database.write(renew).catch(() => true);
    if (!isOwner) return void this.#lose();
    this.#noticeStop();
    if (this.#ended === undefined) this.#renewLater();
  }

  #noticeStop(): void {
    const { stop, generation } = this.#connection.database.agent(this.#agentId);
    if (stop !== undefined && generation === this.generation)
      this.#lost.abort(new StopRequestedError(this.#agentId, stop));
  }

  async #orEnd<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      this.#finish(error as Error);
      throw error;
    }
  }

  #lose(): OwnershipLostError {
    const error = new OwnershipLostError(this.#agentId, this.generation);
    this.#finish(error);
    this.#lost.abort(error);
    return error;
  }

  #finish(reason: Error): void {
    this.#ended ??= reason;
    this.#stopRenewing();
  }

  #assertOwned(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }
}
