import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import type { AgentFolder } from "../format/AgentFolder.ts";
import { replaceAtomically } from "../format/replaceAtomically.ts";
import { decodeState, encodeState, type StoredState } from "../format/stateJson.ts";
import { openReader } from "../read/LogReader.ts";

/**
 * The picture of an agent's status beside its log. It cannot change at once with the log, so it says `changing` on the
 * device before the append that changes the status, and is settled after: whoever finds it so asks the log.
 */
export class StateFile {
  readonly #folder: AgentFolder;
  readonly #disk: Disk;
  readonly #sha256: Sha256;

  constructor(folder: AgentFolder, disk: Disk, sha256: Sha256) {
    this.#folder = folder;
    this.#disk = disk;
    this.#sha256 = sha256;
  }

  /** `undefined` when it is missing or damaged, or belongs to another agent. */
  async read(): Promise<StoredState | undefined> {
    const bytes = await this.#disk.readFile(this.#folder.state);
    const state = bytes && decodeState(bytes.toString(), this.#sha256);
    return state?.summary.agentId === this.#folder.agentId ? state : undefined;
  }

  /** Durable when it resolves. */
  async markChanging(summary: AgentSummary, generation: number): Promise<void> {
    await this.#write({ summary, generation, changing: true }, true);
  }

  /** Not synced: if it is lost, the one that says `changing` is still there, or a damaged one. */
  async settle(summary: AgentSummary, generation: number): Promise<void> {
    await this.#write({ summary, generation, changing: false }, false);
  }

  /** Removed on the device when it resolves. */
  async remove(): Promise<void> {
    await this.#disk.unlink(this.#folder.state);
    await this.#disk.fsyncDir(this.#folder.path);
  }

  async #write(state: StoredState, durable: boolean): Promise<void> {
    await replaceAtomically(
      this.#disk,
      this.#folder,
      this.#folder.state,
      state.generation,
      Buffer.from(encodeState(state, this.#sha256)),
      durable,
    );
  }
}

/** Writes `state.json` anew from the log when it is missing, damaged or was left while it changed. */
export async function repairState(backend: FileBackend, folder: AgentFolder, generation: number): Promise<void> {
  const file = new StateFile(folder, backend.disk, backend.sha256);
  const state = await file.read();
  if (state !== undefined && !state.changing) return;
  const summary = await openReader(backend, folder).lastSummary();
  if (summary !== undefined) await file.settle(summary, generation);
}
