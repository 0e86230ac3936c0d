import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { OwnershipLostError } from "../../errors/storageErrors.ts";
import type { TornTail } from "../../checkpoint/records/Entry.ts";
import { encodeAppend, type EncodedAppend } from "../appends/encodeAppend.ts";
import { LeasedOwnedLog } from "../lease/LeasedOwnedLog.ts";
import type { LastAppend, LogAppend, RebuiltSummary, StoredAppends } from "../RecordLog.ts";
import { type FileBackend, newClaim } from "./owner/FileBackend.ts";
import { compactSegments, dropSegments } from "./compactSegments.ts";
import { type AgentFolder, replaceAtomically } from "./layout/AgentFolder.ts";
import { type Segment, encodeControl, openingBytes, type Claim } from "./layout/Segment.ts";
import { publishReplacement, publishSegment } from "./owner/OwnedSegment.ts";
import { releaseGeneration } from "./owner/OwnerLiveness.ts";
import type { Held, Taken } from "./takeOwnership.ts";
import type { OwnLog } from "./read/LogLoader.ts";
import { LogReader } from "./read/LogReader.ts";
import { StateFile } from "./StateFile.ts";
import { inLargeParts } from "../../internal/bytes.ts";
import type { DiskFile } from "../../nodejs/Disk.ts";
import { ReceivedAppends } from "../../checkpoint/format/ReceivedAppends.ts";

/** A file log that this process owns. The next append starts when the previous one is durable and no later owner exists. */
export class FileOwnedLog extends LeasedOwnedLog<EncodedAppend> {
  readonly tornTail: TornTail | undefined;
  readonly #backend: FileBackend;
  readonly #folder: AgentFolder;
  readonly #state: StateFile;
  /** The published segment. Set while the segment is unchanged and no other owner can have replaced it. */
  #opened: { readonly segment: Segment; readonly untilMs: number } | undefined;
  #taken: Held;
  #rebuilt: RebuiltSummary | undefined;
  /** Whether files of this owner may exist. */
  #wrote = false;

  constructor(backend: FileBackend, folder: AgentFolder, taken: Taken, onEnd: () => void) {
    super(backend, { agentId: folder.agentId, end: taken.end, damage: taken.damage }, onEnd);
    this.#backend = backend;
    this.#folder = folder;
    this.#state = new StateFile(backend, folder);
    this.tornTail = taken.tornTail;
    const { segment, claim, end, opened, claimedAtMs } = taken;
    this.#opened = { segment: opened, untilMs: claimedAtMs + backend.leaseMs };
    this.#taken = { segment, claim, end };
  }

  /** Returns the log for a reader in this process. Only the first reader gets the opened segment, which may be large. */
  forReader(): OwnLog {
    const { segment, untilMs } = this.#opened ?? { untilMs: -Infinity };
    this.#opened = undefined;
    return { end: this.end, opened: this.#backend.clock.monotonic() < untilMs ? segment : undefined };
  }

  get generation(): number {
    return this.#taken.segment.generation;
  }

  get rebuilt(): RebuiltSummary | undefined {
    return this.#rebuilt;
  }

  /** Starts the lease with the claim, and repairs an unsettled `state.json`. A short owner needs no `.alive` file. */
  async start(taken: Taken): Promise<void> {
    const { clock, leaseMs } = this.#backend;
    if (clock.monotonic() - taken.claimedAtMs > leaseMs / 3) await this.renewal.start();
    else this.renewal.continue(taken.claimedAtMs);
    if (this.damage) return;
    const repair = () => this.#state.repair(this.generation, taken);
    this.#rebuilt = await this.#writeState(repair).catch(() => undefined);
  }

  prune(): Promise<void> {
    return this.inTurn(async () => {
      await this.#continueAs(() => compactSegments(this.#backend, this.#folder, this.#taken));
      await this.#backend.reserve.renew();
    });
  }

  drop(): Promise<void> {
    return this.inTurn(async () => {
      const { segment } = this.#taken;
      this.#opened = undefined;
      this.#taken = await this.orEnd(async () => {
        await this.#assertHeld();
        await this.renewal.stop();
        await segment.check();
        await this.#state.remove();
        return dropSegments(this.#backend, this.#folder, this.#taken, this.end);
      });
      // A later list detects the deletion and removes the remaining files.
      await this.#state.unmark().catch(() => {});
      await segment.close().catch(() => {});
      await this.finish();
      await this.#backend.reserve.renew();
    });
  }

  /** A release waits for the copy, because it writes to the segment that the copy replaces. */
  override receive(received: StoredAppends, last: LastAppend): Promise<void> {
    return this.inTurn(() => super.receive(received, last));
  }

  protected encode(entry: LogAppend, end: ChainLink): EncodedAppend {
    return encodeAppend(this.agentId, entry, this.generation, end, this.#backend.sha256);
  }

  protected async store({ encoded, summary }: EncodedAppend): Promise<void> {
    this.#opened = undefined;
    // The caller may cause effects after this append resolves, so the lease must be fresh.
    await this.#assertHeld();
    await this.#orWithdraw(async () => {
      if (summary !== undefined) await this.#state.markChanging(summary, this.generation, this.end);
      await this.#taken.segment.store(encoded);
    });
  }

  protected async stored({ summary }: EncodedAppend): Promise<void> {
    // If this fails, the state stays `changing`, and lists read the log instead.
    const settling = summary === undefined ? this.#writeStatus() : this.#state.settle(summary, this.generation);
    await settling.catch(() => {});
  }

  /** Reads the lines before the log is changed. So if a line cannot be read, the owner keeps the log. */
  protected async storeReceived(received: StoredAppends, last: LastAppend): Promise<EncodedAppend> {
    if (received.generation > this.generation)
      await this.#continueAs(() => leaveOutNumbers(this.#backend, this.#folder, this.#taken, received.generation));
    const segment = await receiveAppends(this.#backend, this.#folder, this.#taken, received, last);
    const { summary } = segment.last;
    await this.#continueAs(() => this.#publishReceived(segment));
    if (summary !== undefined) await this.#state.settle(summary, this.generation).catch(() => {});
    return segment.last;
  }

  protected async idAt(position: number): Promise<string | undefined> {
    const [entry] = await new LogReader(this.#folder, this.#backend).read({ after: position - 1, upTo: position });
    return entry?.id;
  }

  protected async readStop(generation = this.generation): Promise<void> {
    const stop = await this.#backend.disk.readFile(this.#folder.stop(generation));
    if (stop !== undefined) this.requestStop(stop.toString().trimEnd());
  }

  /** Writes the `.alive` file, and looks for a `.stop` file and a higher generation. */
  protected async renew(beat: number): Promise<void> {
    const { segment } = this.#taken;
    const { generation } = segment;
    const sign = Buffer.from(`${beat}\n`);
    this.#wrote = true;
    await replaceAtomically(this.#backend.disk, this.#folder, this.#folder.alive(generation), generation, sign, false);
    await this.readStop();
    try {
      await segment.check();
      void this.inTurn(() => this.#writeStatus()).catch(() => {});
    } catch (error) {
      if (error instanceof OwnershipLostError && segment === this.#taken.segment) this.lose(error);
    }
  }

  protected async giveBack(): Promise<void> {
    const closed = Buffer.from(encodeControl("closed", this.damage ? {} : this.end, this.#backend.sha256));
    this.#opened = undefined;
    if (!this.damage) await this.#writeState(() => this.#state.noteEnd(this.end, this.generation)).catch(() => {});
    await this.renewal.stop();
    await this.#taken.segment.writeUnsynced(closed).catch(() => this.abandon());
    await this.#removeFiles(this.generation).catch(() => {});
    await this.finish();
  }

  protected override async finish(reason?: Error): Promise<void> {
    await super.finish(reason);
    await this.#taken.segment.close().catch(() => {});
  }

  protected abandon(): void {
    releaseGeneration(this.#folder.segment(this.generation), this.#taken.claim.nonce);
  }

  async #writeStatus(): Promise<void> {
    if (!this.damage) await this.#writeState(() => this.#state.writeStatus(this.end, this.generation));
  }

  /** Writes `state.json` while this owner has the lease. Checks again, because the process may have slept. */
  async #writeState<Result>(write: () => Promise<Result>): Promise<Result> {
    await this.#assertHeld();
    return this.#orWithdraw(async () => {
      const result = await write();
      await this.#assertHeld();
      return result;
    });
  }

  /** If this owner was replaced, removes the `state.json` that it wrote, because the new log may end elsewhere. */
  async #orWithdraw<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof OwnershipLostError) await this.#state.withdraw(this.generation);
      throw error;
    }
  }

  async #publishReceived({ file, claim, last: { end, summary } }: ReceivedSegment): Promise<Held> {
    if (file === undefined) throw new OwnershipLostError(this.agentId, this.generation);
    try {
      await this.#assertHeld();
      if (summary !== undefined) await this.#state.markChanging(summary, this.generation, this.end);
    } catch (error) {
      await this.#backend.publisher.discard(file);
      throw error;
    }
    return { segment: await publishReplacement(this.#backend, this.#folder, claim, file), claim, end };
  }

  async #continueAs(next: () => Promise<Held>): Promise<void> {
    const { segment } = this.#taken;
    this.#opened = undefined;
    this.#taken = await this.orEnd(next);
    await segment.close().catch(() => {});
    // A stop request may name the earlier generation of this owner.
    await this.readStop(segment.generation).catch(() => {});
    await this.#removeFiles(segment.generation).catch(() => {});
    await this.renewal.now();
  }

  /** Refreshes the lease before a critical step. Rejects for a known successor. */
  async #assertHeld(): Promise<void> {
    await this.renewal.refresh();
    if (this.replaced) throw this.replaced;
  }

  /** Removes the files of the owner. The next owner removes a stop request before the first renewal. */
  async #removeFiles(generation: number): Promise<void> {
    if (!this.#wrote && !this.lost.aborted) return;
    await this.#backend.disk.unlink(this.#folder.alive(generation));
    await this.#backend.disk.unlink(this.#folder.stop(generation));
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

/** Copied lines and the append after them. They are durable, but not yet part of a log. */
interface ReceivedSegment {
  readonly file: DiskFile | undefined;
  readonly claim: Claim;
  readonly last: EncodedAppend;
}

const lineBreak = Buffer.from("\n");
const writtenBytes = 1024 * 1024;

/** Writes the segment that follows the owner's segment. Checks the lines and holds only a few in memory. */
async function receiveAppends(
  backend: FileBackend,
  folder: AgentFolder,
  { claim: { generation, nonce } }: Held,
  received: StoredAppends,
  last: LastAppend,
): Promise<ReceivedSegment> {
  const claim = newClaim(backend, folder.agentId, generation + 1, nonce);
  let ending: EncodedAppend | undefined;
  const checked = new ReceivedAppends(folder.agentId, received.generation, backend.sha256);
  async function* bytes(): AsyncGenerator<readonly Uint8Array[]> {
    for await (const line of received.appends) {
      const { position } = checked.accept(line);
      if (checked.count === 1) yield [headOf(claim, position - 1, backend)];
      yield [line, lineBreak];
    }
    ending = await endingOf(folder.agentId, claim, checked.end(), last, backend);
    yield [ending.encoded];
  }
  const file = await backend.publisher.prepare(folder, generation, inLargeParts(bytes(), writtenBytes));
  if (!ending) throw new TypeError("the lines did not end");
  return { file, claim, last: ending };
}

/** Returns the bytes before the lines. `open` may be first, because all lines are durable before the segment. */
function headOf(claim: Claim, from: number, { sha256 }: FileBackend): Uint8Array {
  return Buffer.concat([
    Buffer.from(encodeControl("claim", claim, sha256)),
    openingBytes([], { from, base: [] }, sha256),
  ]);
}

async function endingOf(
  agentId: string,
  { generation }: Claim,
  end: ChainLink,
  last: LastAppend,
  { sha256 }: FileBackend,
): Promise<EncodedAppend> {
  const append = await last({ generation, position: end.position });
  return encodeAppend(agentId, append, generation, end, sha256);
}
