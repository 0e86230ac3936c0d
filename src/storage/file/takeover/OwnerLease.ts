import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import { StopRequestedError } from "../../../errors/run/StopRequestedError.ts";
import { LeaseRenewal } from "../../ownership/LeaseRenewal.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import type { OwnedSegment } from "../owner/OwnedSegment.ts";
import { type AgentFolder, replaceAtomically } from "../layout/AgentFolder.ts";

/**
 * Shows others that an owner lives, and tells the owner what others want: with each renewal it writes its `.alive` file,
 * looks for its `.stop` file and for a higher generation.
 */
export class OwnerLease {
  readonly #backend: FileBackend;
  readonly #folder: AgentFolder;
  readonly #segment: () => OwnedSegment;
  readonly #renewal: LeaseRenewal;
  readonly #lost = new AbortController();

  constructor(backend: FileBackend, folder: AgentFolder, segment: () => OwnedSegment) {
    this.#backend = backend;
    this.#folder = folder;
    this.#segment = segment;
    this.#renewal = new LeaseRenewal(backend.clock, backend.leaseMs, (beat) => this.#renew(beat));
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  lose(error: OwnershipLostError | StopRequestedError): void {
    this.#lost.abort(error);
  }

  start(): Promise<void> {
    return this.#renewal.start();
  }

  stop(): Promise<void> {
    return this.#renewal.stop();
  }

  /** For an owner about to begin something: see {@link LeaseRenewal.refresh}. */
  refresh(): Promise<void> {
    return this.#renewal.refresh();
  }

  /** The owner continues under another generation, which only this owner could have linked. */
  async moved(from: number): Promise<void> {
    await this.removeFiles(from).catch(() => {});
    await this.#renewal.now();
  }

  async removeFiles(generation: number): Promise<void> {
    await this.#backend.disk.unlink(this.#folder.alive(generation));
    await this.#backend.disk.unlink(this.#folder.stop(generation));
  }

  /** Looks for the `.stop` file. */
  async checkStop(): Promise<void> {
    const stop = await this.#backend.disk.readFile(this.#folder.stop(this.#segment().generation));
    if (stop !== undefined) this.lose(new StopRequestedError(this.#folder.agentId, stop.toString().trimEnd()));
  }

  async #renew(beat: number): Promise<void> {
    const { disk } = this.#backend;
    const segment = this.#segment();
    const { generation } = segment;
    const sign = Buffer.from(`${beat}\n`);
    await replaceAtomically(disk, this.#folder, this.#folder.alive(generation), generation, sign, false);
    await this.checkStop();
    await segment.check().catch((error: unknown) => {
      if (error instanceof OwnershipLostError && segment === this.#segment()) this.lose(error);
    });
  }
}
