import { encodeEntry } from "../../checkpoint/entryCodec.ts";
import { OwnershipLostError } from "../../errors/OwnershipLostError.ts";
import { PositionConflictError } from "../../errors/PositionConflictError.ts";
import { StorageClosedError } from "../../errors/StorageClosedError.ts";
import type { ChainLink } from "../../internal/EntryChain.ts";
import type { AgentSummary, LogAppend, OwnedLog } from "../RecordLog.ts";
import type { AgentFolder } from "./AgentFolder.ts";
import { compactSegments } from "./compactSegments.ts";
import { encodeControl } from "./controlLine.ts";
import { dropSegments } from "./dropSegments.ts";
import type { FileBackend } from "./FileBackend.ts";
import { finishOwner } from "./finishedOwners.ts";
import { LogLoader } from "./LogLoader.ts";
import { LogReader } from "./LogReader.ts";
import { OwnerLease } from "./OwnerLease.ts";
import { StateFile } from "./StateFile.ts";
import type { Taken } from "./takeOwnership.ts";

/**
 * A log in files that this process owns. One append at a time: the next is written only when the one before is on the
 * device and nobody has come after. The first failure ends the ownership, since what the device holds is then unknown.
 */
export class FileOwnedLog implements OwnedLog {
  readonly #backend: FileBackend;
  readonly #folder: AgentFolder;
  readonly #state: StateFile;
  readonly #lease: OwnerLease;
  readonly #onEnd: () => void;
  #taken: Taken;
  #end: ChainLink;
  #queue: Promise<unknown> = Promise.resolve();
  #ended: unknown;

  constructor(backend: FileBackend, folder: AgentFolder, taken: Taken, onEnd: () => void) {
    this.#backend = backend;
    this.#folder = folder;
    this.#state = new StateFile(folder, backend.disk, backend.sha256);
    this.#lease = new OwnerLease(backend, folder, () => this.#taken.segment);
    this.#onEnd = onEnd;
    this.#taken = taken;
    this.#end = taken.end;
  }

  get position(): number {
    return this.#end.position;
  }

  get generation(): number {
    return this.#taken.segment.generation;
  }

  get lost(): AbortSignal {
    return this.#lease.lost;
  }

  /** Begins to renew the lease, and mends `state.json` if the owner before left it unsettled. */
  async start(): Promise<void> {
    await this.#lease.start();
    await this.#mendState().catch(() => {});
  }

  append(entry: LogAppend, expectedPosition: number): Promise<number> {
    return this.#inTurn(() => {
      if (expectedPosition !== this.#end.position) return this.#acknowledgeAgain(entry, expectedPosition);
      return this.#store(entry);
    });
  }

  prune(positions: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      const { generation } = this.#taken.segment;
      this.#taken = await this.#replacing(() => compactSegments(this.#backend, this.#folder, this.#taken, new Set(positions)));
      if (generation !== this.generation) await this.#lease.moved(generation);
    });
  }

  async drop(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#lease.stop();
      await this.#state.remove();
      this.#taken = await this.#replacing(() => dropSegments(this.#backend, this.#folder, this.#taken, this.#end));
      await this.#finish();
    });
  }

  release(): Promise<void> {
    const released = this.#queue.then(() => this.#release());
    this.#queue = released.catch(() => {});
    return released;
  }

  async #store(entry: LogAppend): Promise<number> {
    const { id, records, snapshot = false } = entry;
    const position = this.#end.position + 1;
    const summary = entry.summary && { ...entry.summary, agentId: this.#folder.agentId, position };
    const { line, checksum } = encodeEntry(
      { position, generation: this.generation, id, records, prev: this.#end.checksum, snapshot, ...(summary && { summary: storedSummary(summary) }) },
      this.#backend.sha256,
    );
    await this.#orEnd(async () => {
      if (summary !== undefined) await this.#state.markChanging(summary, this.generation);
      await this.#taken.segment.store(Buffer.from(`${line}\n`));
    });
    this.#end = { position, checksum };
    // If this fails the state stays `changing`, and a list asks the log.
    if (summary !== undefined) await this.#state.settle(summary, this.generation).catch(() => {});
    return position;
  }

  async #acknowledgeAgain({ id }: LogAppend, expectedPosition: number): Promise<number> {
    const { sha256, disk } = this.#backend;
    const reader = new LogReader(this.#folder.agentId, new LogLoader(this.#folder, disk, sha256), sha256);
    const position = expectedPosition + 1;
    for await (const found of reader.read({ after: expectedPosition, upTo: position })) if (found.id === id) return position;
    throw new PositionConflictError(this.#folder.agentId, expectedPosition, this.#end.position);
  }

  async #release(): Promise<void> {
    if (this.#ended !== undefined) return;
    const closed = Buffer.from(encodeControl("closed", {}, this.#backend.sha256));
    await this.#lease.stop();
    await this.#taken.segment.writeUnsynced(closed).catch(() => this.#finishSilently());
    await this.#lease.removeFiles(this.generation).catch(() => {});
    await this.#finish();
  }

  async #mendState(): Promise<void> {
    const state = await this.#state.read();
    if (state !== undefined && !state.changing) return;
    const { sha256, disk } = this.#backend;
    const summary = await new LogReader(this.#folder.agentId, new LogLoader(this.#folder, disk, sha256), sha256).lastSummary();
    if (summary !== undefined) await this.#state.settle(summary, this.generation);
  }

  /** After the rewriting of a log the segment before is no longer open. */
  async #replacing(rewrite: () => Promise<Taken>): Promise<Taken> {
    const { segment } = this.#taken;
    const taken = await this.#orEnd(rewrite);
    if (taken.segment !== segment) await segment.close().catch(() => {});
    return taken;
  }

  async #orEnd<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      this.#finishSilently();
      if (error instanceof OwnershipLostError) this.#lease.lose(error);
      await this.#lease.stop();
      await this.#finish(error);
      throw error;
    }
  }

  async #finish(reason: unknown = new StorageClosedError(`The log of agent ${JSON.stringify(this.#folder.agentId)}`)): Promise<void> {
    this.#ended = reason;
    this.#onEnd();
    await this.#taken.segment.close().catch(() => {});
  }

  #inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    const turn = this.#queue.then(() => {
      if (this.#ended !== undefined) throw this.#ended;
      return action();
    });
    this.#queue = turn.catch(() => {});
    return turn;
  }

  #finishSilently(): void {
    finishOwner(this.#folder.segment(this.generation), this.#taken.claim.nonce);
  }
}

/** The entry says itself whose it is and where it stands. */
function storedSummary({ agentId: _agentId, position: _position, ...summary }: AgentSummary): object {
  return summary;
}
