import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import {
  OwnershipLostError,
  PositionConflictError,
  StorageClosedError,
  AlreadyExistsError,
} from "../../errors/storageErrors.ts";
import { Mutex } from "../../internal/Mutex.ts";
import type { TornTail } from "../../checkpoint/records/Entry.ts";
import { encodeAppend, type EncodedAppend } from "../lease/encodeAppend.ts";
import type { LogAppend, OwnedLog, RebuiltSummary, RecordLog, StoredAppends } from "../RecordLog.ts";
import { type FileBackend, newClaim } from "./owner/FileBackend.ts";
import { compactSegments, dropSegments } from "./compactSegments.ts";
import type { AgentFolder } from "./layout/AgentFolder.ts";
import { encodeControl, openingBytes } from "./layout/controlLine.ts";
import { type ReceivedSegment, receiveAppends } from "./receiveAppends.ts";
import { publishReplacement, publishSegment } from "./owner/OwnedSegment.ts";
import { releaseGeneration } from "./owner/OwnerLiveness.ts";
import { OwnerLease } from "./takeover/OwnerLease.ts";
import type { Held, Taken } from "./takeover/takeOwnership.ts";
import type { Segment } from "./layout/Segment.ts";
import type { OwnLog } from "./read/LogLoader.ts";
import { openReader } from "./read/LogReader.ts";
import { StateFile } from "./summary/StateFile.ts";

/**
 * A file log that this process owns. It writes one append at a time. The next append starts when the previous one is
 * durable and no later owner exists. The first failure ends the ownership, because the content of the device is then
 * unknown.
 */
export class FileOwnedLog implements OwnedLog {
  readonly tornTail: TornTail | undefined;
  readonly #backend: FileBackend;
  readonly #folder: AgentFolder;
  readonly #state: StateFile;
  readonly #lease: OwnerLease;
  readonly #onEnd: () => void;
  readonly #turns = new Mutex();
  /** The segment as it was published, while it is unchanged and no other owner can have replaced it. */
  #opened: { readonly segment: Segment; readonly untilMs: number } | undefined;
  #taken: Held;
  #end: ChainLink;
  /** The end of the log after all queued appends. If one fails, all later ones also fail. */
  #expectedEnd: ChainLink;
  #ended: Error | undefined;
  #rebuilt: RebuiltSummary | undefined;

  constructor(backend: FileBackend, folder: AgentFolder, taken: Taken, onEnd: () => void) {
    this.#backend = backend;
    this.#folder = folder;
    this.#state = new StateFile(backend, folder);
    const writeStatus = () => void this.#inTurn(() => this.#writeStatus()).catch(() => {});
    this.#lease = new OwnerLease(backend, folder, () => this.#taken.segment, writeStatus);
    this.#onEnd = onEnd;
    this.tornTail = taken.tornTail;
    const { segment, claim, end, opened, claimedAtMs } = taken;
    this.#opened = { segment: opened, untilMs: claimedAtMs + backend.leaseMs };
    this.#taken = { segment, claim, end };
    this.#end = end;
    this.#expectedEnd = end;
  }

  get agentId(): string {
    return this.#folder.agentId;
  }

  get position(): number {
    return this.#end.position;
  }

  /** Returns the log for a reader in this process. Only the first reader gets the opened segment, which may be large. */
  forReader(): OwnLog {
    const { segment, untilMs } = this.#opened ?? { untilMs: -Infinity };
    this.#opened = undefined;
    return { end: this.#end, opened: this.#backend.clock.monotonic() < untilMs ? segment : undefined };
  }

  /** Whether the agent has no appends, as before the first append or after a deletion. */
  get isEmpty(): boolean {
    return this.#end.checksum === "";
  }

  get generation(): number {
    return this.#taken.segment.generation;
  }

  get lost(): AbortSignal {
    return this.#lease.lost;
  }

  get rebuilt(): RebuiltSummary | undefined {
    return this.#rebuilt;
  }

  /** Starts to renew the lease, and repairs an unsettled `state.json` of the previous owner. */
  async start(taken: Taken): Promise<void> {
    await this.#lease.start(taken.claimedAtMs);
    const repair = () => this.#state.repair(this.generation, taken);
    this.#rebuilt = await this.#writeState(repair).catch(() => undefined);
  }

  async checkStop(): Promise<void> {
    if (this.#ended === undefined && !this.lost.aborted) await this.#lease.checkStop();
  }

  async append(entry: LogAppend, expectedPosition: number): Promise<number> {
    if (expectedPosition !== this.#expectedEnd.position) {
      return this.#inTurn(() => this.#acknowledgeAgain(entry.id, expectedPosition));
    }
    // Encodes before the first await, because the caller may change the entry afterwards.
    const encoded = encodeAppend(this.#folder.agentId, entry, this.generation, this.#expectedEnd, this.#backend.sha256);
    this.#expectedEnd = encoded.end;
    return this.#inTurn(() => this.#store(encoded));
  }

  prune(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#continueAs(() => compactSegments(this.#backend, this.#folder, this.#taken));
      await this.#backend.reserve.renew();
    });
  }

  /**
   * Copies the lines of another log into this empty log. The log stays empty until the whole segment is published. The
   * lines are read before the log is changed, so a failure to read them does not end the ownership.
   */
  receive(received: StoredAppends, last: Parameters<NonNullable<RecordLog["receive"]>>[3]): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.isEmpty) throw new AlreadyExistsError("agent_exists", this.#folder.agentId);
      if (received.generation > this.generation)
        await this.#continueAs(() => leaveOutNumbers(this.#backend, this.#folder, this.#taken, received.generation));
      const segment = await receiveAppends(this.#backend, this.#folder, this.#taken, received, last);
      const { end, summary } = segment.last;
      await this.#continueAs(() => this.#publishReceived(segment));
      this.#end = end;
      this.#expectedEnd = end;
      if (summary !== undefined) await this.#state.settle(summary, this.generation).catch(() => {});
    });
  }

  drop(): Promise<void> {
    return this.#inTurn(async () => {
      const { segment } = this.#taken;
      this.#opened = undefined;
      this.#taken = await this.#orEnd(async () => {
        await this.#lease.assertHeld();
        await this.#lease.stop();
        await segment.check();
        await this.#state.remove();
        return dropSegments(this.#backend, this.#folder, this.#taken, this.#end);
      });
      // A later list detects the deletion and removes the remaining files.
      await this.#state.unmark().catch(() => {});
      await segment.close().catch(() => {});
      await this.#finish(this.#closedError());
      await this.#backend.reserve.renew();
    });
  }

  release(): Promise<void> {
    return this.#turns.runExclusive(async () => {
      if (this.#ended !== undefined) return;
      const closed = Buffer.from(encodeControl("closed", this.#end, this.#backend.sha256));
      this.#opened = undefined;
      await this.#writeState(() => this.#state.noteEnd(this.#end)).catch(() => {});
      await this.#lease.stop();
      await this.#taken.segment.writeUnsynced(closed).catch(() => this.#finishSilently());
      await this.#lease.removeFiles(this.generation).catch(() => {});
      await this.#finish(this.#closedError());
    });
  }

  #writeStatus(): Promise<void> {
    return this.#writeState(() => this.#state.writeStatus(this.#end));
  }

  /**
   * Writes `state.json` while this owner has the lease, which is checked again because a process may sleep meanwhile.
   */
  async #writeState<Result>(write: () => Promise<Result>): Promise<Result> {
    await this.#lease.assertHeld();
    return this.#orWithdraw(async () => {
      const result = await write();
      await this.#lease.assertHeld();
      return result;
    });
  }

  /** Removes the `state.json` that a replaced owner wrote, because the log of its successor may end elsewhere. */
  async #orWithdraw<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof OwnershipLostError) await this.#state.withdraw(this.generation);
      throw error;
    }
  }

  async #publishReceived({ file, claim, last: { end, summary } }: ReceivedSegment): Promise<Held> {
    if (file === undefined) throw new OwnershipLostError(this.#folder.agentId, this.generation);
    await this.#lease.assertHeld();
    if (summary !== undefined) await this.#state.markChanging(summary, this.generation, this.#end);
    return { segment: await publishReplacement(this.#backend, this.#folder, claim, file), claim, end };
  }

  async #continueAs(next: () => Promise<Held>): Promise<void> {
    const { segment } = this.#taken;
    this.#opened = undefined;
    this.#taken = await this.#orEnd(next);
    await segment.close().catch(() => {});
    await this.#lease.moved(segment.generation);
  }

  async #store({ encoded, end, summary }: EncodedAppend): Promise<number> {
    this.#opened = undefined;
    await this.#orEnd(async () => {
      // The caller may cause effects after this append resolves, so the lease must be fresh.
      await this.#lease.assertHeld();
      await this.#orWithdraw(async () => {
        if (summary !== undefined) await this.#state.markChanging(summary, this.generation, this.#end);
        await this.#taken.segment.store(encoded);
      });
    });
    this.#end = end;
    // If this fails, the state stays `changing`, and lists read the log instead.
    const settling = summary === undefined ? this.#writeStatus() : this.#state.settle(summary, this.generation);
    await settling.catch(() => {});
    return end.position;
  }

  async #acknowledgeAgain(id: string, expectedPosition: number): Promise<number> {
    const position = expectedPosition + 1;
    const entries = await openReader(this.#backend, this.#folder).read({ after: expectedPosition, upTo: position });
    for (const entry of entries) if (entry.id === id) return position;
    throw new PositionConflictError(this.#folder.agentId, expectedPosition, this.#end.position);
  }

  /** Ends the ownership on failure, because the content of the device is then unknown. */
  async #orEnd<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      this.#finishSilently();
      if (error instanceof OwnershipLostError) this.#lease.lose(error);
      await this.#lease.stop();
      await this.#finish(error as Error);
      throw error;
    }
  }

  async #finish(reason: Error): Promise<void> {
    this.#ended = reason;
    this.#onEnd();
    await this.#taken.segment.close().catch(() => {});
  }

  #finishSilently(): void {
    releaseGeneration(this.#folder.segment(this.generation), this.#taken.claim.nonce);
  }

  #inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#turns.runExclusive(() => {
      if (this.#ended !== undefined) throw this.#ended;
      return action();
    });
  }

  #closedError(): StorageClosedError {
    return new StorageClosedError(`The log of agent ${JSON.stringify(this.#folder.agentId)}`);
  }
}

/**
 * Moves the owner of an empty log to a higher generation and skips the generations in between. Another owner may
 * concurrently publish one of them. Therefore the new segment is valid only if the directory shows no segment in
 * between after it was published. Of two concurrent owners, at least one finds the other and gives up. The log is still
 * empty, so no data can be lost.
 *
 * @throws OwnershipLostError if another owner was faster.
 */
async function leaveOutNumbers(
  backend: FileBackend,
  folder: AgentFolder,
  { claim: { generation: before, nonce }, end }: Held,
  generation: number,
): Promise<Held> {
  const claim = { ...newClaim(backend, folder.agentId, generation, nonce), after: before };
  const bytes = Buffer.from(encodeControl("claim", claim, backend.sha256));
  const segment = await publishSegment(backend, folder, claim, bytes);
  if (segment === undefined) throw new OwnershipLostError(folder.agentId, before, generation);
  try {
    await segment.checkAfter(before);
    const opening = openingBytes([], { from: end.position, base: [] }, backend.sha256);
    await segment.removeOthers(await segment.store(opening));
    return { segment, claim, end };
  } catch (error) {
    releaseGeneration(folder.segment(generation), nonce);
    await segment.close().catch(() => {});
    throw error;
  }
}
