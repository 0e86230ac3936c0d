import { OwnershipLostError } from "../../../errors/storageErrors.ts";
import { StopRequestedError } from "../../../errors/runErrors.ts";
import { LeaseRenewal } from "../../lease/LeaseRenewal.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import type { OwnedSegment } from "../owner/OwnedSegment.ts";
import { type AgentFolder, replaceAtomically } from "../layout/AgentFolder.ts";

/** Renews a lease by writing its `.alive` file. Each renewal looks for a `.stop` file and a higher generation. */
export class OwnerLease {
  readonly #backend: FileBackend;
  readonly #folder: AgentFolder;
  readonly #segment: () => OwnedSegment;
  readonly #renewal: LeaseRenewal;
  readonly #onRenewed: () => void;
  readonly #lost = new AbortController();
  /** Set even if a stop request was the first reason to give up the agent. */
  #replaced: OwnershipLostError | undefined;
  /** Whether files of this owner may exist. */
  #wrote = false;

  constructor(backend: FileBackend, folder: AgentFolder, segment: () => OwnedSegment, onRenewed: () => void) {
    this.#backend = backend;
    this.#folder = folder;
    this.#segment = segment;
    this.#onRenewed = onRenewed;
    this.#renewal = new LeaseRenewal(backend.clock, backend.leaseMs, (beat) => this.#renew(beat));
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  lose(error: OwnershipLostError | StopRequestedError): void {
    if (error instanceof OwnershipLostError) this.#replaced ??= error;
    this.#lost.abort(error);
  }

  /**
   * Starts the lease, which began when the claim was published. A short owner needs no `.alive` file, because others
   * wait for a whole lease in any case.
   */
  async start(claimedAtMs: number): Promise<void> {
    const { clock, leaseMs } = this.#backend;
    if (clock.monotonic() - claimedAtMs > leaseMs / 3) await this.#renewal.start();
    else this.#renewal.continue(claimedAtMs);
  }

  stop(): Promise<void> {
    return this.#renewal.stop();
  }

  /** Refreshes the lease before a critical step. See {@link LeaseRenewal.refresh}. Rejects for a known successor. */
  async assertHeld(): Promise<void> {
    await this.#renewal.refresh();
    if (this.#replaced) throw this.#replaced;
  }

  /** Continues the lease under another generation of the same owner. A stop request may name the earlier one. */
  async moved(from: number): Promise<void> {
    await this.checkStop(from).catch(() => {});
    await this.removeFiles(from).catch(() => {});
    await this.#renewal.now();
  }

  /** Leaves a stop request that arrived before the first renewal. The next owner removes it. */
  async removeFiles(generation: number): Promise<void> {
    if (!this.#wrote && !this.lost.aborted) return;
    await this.#backend.disk.unlink(this.#folder.alive(generation));
    await this.#backend.disk.unlink(this.#folder.stop(generation));
  }

  async checkStop(generation: number = this.#segment().generation): Promise<void> {
    const stop = await this.#backend.disk.readFile(this.#folder.stop(generation));
    if (stop !== undefined) this.lose(new StopRequestedError(this.#folder.agentId, stop.toString().trimEnd()));
  }

  async #renew(beat: number): Promise<void> {
    const { disk } = this.#backend;
    const segment = this.#segment();
    const { generation } = segment;
    const sign = Buffer.from(`${beat}\n`);
    this.#wrote = true;
    await replaceAtomically(disk, this.#folder, this.#folder.alive(generation), generation, sign, false);
    await this.checkStop();
    try {
      await segment.check();
      this.#onRenewed();
    } catch (error) {
      if (error instanceof OwnershipLostError && segment === this.#segment()) this.lose(error);
    }
  }
}
