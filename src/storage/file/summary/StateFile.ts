import type { AgentSummary } from "../../RecordLog.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import type { AgentFolder } from "../format/AgentFolder.ts";
import { replaceAtomically } from "../format/replaceAtomically.ts";
import { decodeState, encodeState, type StoredState } from "../format/stateJson.ts";
import { openReader } from "../read/LogReader.ts";

/**
 * The picture of an agent's status beside its log. It cannot change at once with the log, so it says `changing` on the
 * device before the append that changes the status, and is settled after. A reader that finds `changing` asks the log.
 */
export class StateFile {
  readonly #folder: AgentFolder;
  readonly #backend: Pick<FileBackend, "disk" | "sha256">;

  constructor(backend: Pick<FileBackend, "disk" | "sha256">, folder: AgentFolder) {
    this.#backend = backend;
    this.#folder = folder;
  }

  /** `undefined` when it is missing or damaged, or belongs to another agent. */
  async read(): Promise<StoredState | undefined> {
    const bytes = await this.#backend.disk.readFile(this.#folder.state);
    const state = bytes && decodeState(bytes.toString(), this.#backend.sha256);
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
    await this.#backend.disk.unlink(this.#folder.state);
    await this.#backend.disk.fsyncDir(this.#folder.path);
  }

  async #write(state: StoredState, durable: boolean): Promise<void> {
    const { disk, sha256 } = this.#backend;
    const bytes = Buffer.from(encodeState(state, sha256));
    await replaceAtomically(disk, this.#folder, this.#folder.state, state.generation, bytes, durable);
  }
}

/** Writes `state.json` anew from the log when it is missing, damaged or was left while it changed. */
export async function repairState(backend: FileBackend, folder: AgentFolder, generation: number): Promise<void> {
  const file = new StateFile(backend, folder);
  const state = await file.read();
  if (state !== undefined && !state.changing) return;
  const summary = await openReader(backend, folder).lastSummary();
  if (summary !== undefined) await file.settle(summary, generation);
}
