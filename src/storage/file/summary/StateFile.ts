import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { type AgentFolder, agentFolderName, replaceAtomically } from "../layout/AgentFolder.ts";
import { decodeState, encodeState, type StoredState } from "../layout/stateJson.ts";
import type { AgentSummary, RebuiltSummary } from "../../RecordLog.ts";
import type { Marked } from "../index/AgentIndex.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { openReader } from "../read/LogReader.ts";
import { basename, join } from "node:path";

type Backend = Pick<FileBackend, "disk" | "sha256" | "identity" | "index" | "tasks">;

/** What an owner found of the log when it took it. */
interface FoundLog {
  readonly end: ChainLink;
  /** The last summary, as far as it was read; absent: it was not, or there is none. */
  readonly summary?: AgentSummary;
}

/**
 * The picture of an agent's status beside its log, and its mark in the index. They cannot change at once with the log, so
 * the file says `changing` on the device before the append that changes the status, and is settled after. A reader that
 * finds `changing` asks the log.
 */
export class StateFile {
  readonly #folder: AgentFolder;
  readonly #backend: Backend;
  readonly #name: string;
  /** What the index has of the agent; `undefined`: not known. */
  #marked: Marked | undefined;
  /** Where the log ended, as the file that was written last says. */
  #end: ChainLink | undefined;

  constructor(backend: Backend, folder: AgentFolder) {
    this.#backend = backend;
    this.#folder = folder;
    this.#name = basename(folder.path);
  }

  /** Durable when it resolves. */
  async markChanging(summary: AgentSummary, generation: number, end: ChainLink): Promise<void> {
    await this.#write({ summary, generation, changing: true, end }, true);
    await this.#backend.index.mark(this.#name, { summary, generation }, this.#marked?.summary);
  }

  /** Not synced: if it is lost, the one that says `changing` is still there, or a damaged one. */
  async settle(summary: AgentSummary, generation: number, end: ChainLink): Promise<void> {
    const before = this.#marked;
    this.#marked = { summary, generation };
    await this.#write({ summary, generation, changing: false, end }, false);
    if (before) await this.#backend.index.unmark(this.#name, before, summary);
  }

  /** Says how far the log reaches, if more was appended since the status changed. Not synced. */
  async noteEnd(end: ChainLink): Promise<void> {
    if (!this.#marked || this.#end?.position === end.position) return;
    await this.#write({ ...this.#marked, changing: false, end }, false);
  }

  /** Removed on the device when it resolves. */
  async remove(): Promise<void> {
    await this.#backend.disk.unlink(this.#folder.state);
    await this.#backend.disk.fsyncDir(this.#folder.path);
  }

  /** Takes the agent, which was deleted, out of the index. */
  async unmark(): Promise<void> {
    await this.#backend.index.markDropped(this.#name);
    if (this.#marked) await this.#backend.index.unmark(this.#name, this.#marked);
  }

  /**
   * Writes the file anew from the log when it is missing or was left while it changed, and when it is damaged, out of date
   * or another agent's: then it resolves to what was rebuilt.
   */
  async repair(generation: number, taken: FoundLog): Promise<RebuiltSummary | undefined> {
    const state = await readState(this.#backend, this.#name);
    if (state && !state.changing && (await this.#isCurrent(state, taken))) {
      this.#marked = state;
      this.#end = state.end;
      return undefined;
    }
    const file = this.#folder.state;
    const isDamaged = state ? !state.changing : (await this.#backend.disk.stat(file)) !== undefined;
    const { summary } = await openReader(this.#backend, this.#folder).lastSummary();
    if (!summary) return undefined;
    await this.#backend.index.mark(this.#name, { summary, generation: 0 });
    await this.settle(summary, generation, taken.end);
    return isDamaged ? { file } : undefined;
  }

  /** Whether the file shows what the log shows. The log is read for it only where it reaches further than the file says. */
  async #isCurrent({ summary, end }: StoredState, { end: found, summary: last }: FoundLog): Promise<boolean> {
    if (!last && end?.position === found.position) return true;
    const recorded = last ?? (await openReader(this.#backend, this.#folder).lastSummary()).summary;
    return recorded !== undefined && this.#encoded(recorded) === this.#encoded(summary);
  }

  #encoded(summary: AgentSummary): string {
    return encodeState({ summary, generation: 1, changing: false }, this.#backend.sha256);
  }

  async #write(state: StoredState, durable: boolean): Promise<void> {
    const { disk, sha256 } = this.#backend;
    const bytes = Buffer.from(encodeState(state, sha256));
    await replaceAtomically(disk, this.#folder, this.#folder.state, state.generation, bytes, durable);
    this.#end = state.end;
  }
}

/** What `state.json` says; `undefined` when it is missing or damaged, or belongs to another agent. */
export async function readState(
  { disk, tasks, sha256 }: Pick<FileBackend, "disk" | "sha256" | "tasks">,
  name: string,
): Promise<StoredState | undefined> {
  const bytes = await disk.readFile(join(tasks, name, "state.json"));
  const state = bytes && decodeState(bytes.toString(), sha256);
  return state && agentFolderName(state.summary.agentId, sha256) === name ? state : undefined;
}
