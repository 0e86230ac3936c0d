import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { type AgentFolder, agentFolderName, replaceAtomically } from "./layout/AgentFolder.ts";
import { decodeState, encodeState, type StoredSummary } from "./layout/stateJson.ts";
import type { AgentSummary, RebuiltSummary } from "../RecordLog.ts";
import type { Marked } from "./index/StatusIndex.ts";
import type { FileBackend } from "./owner/FileBackend.ts";
import { LogReader } from "./read/LogReader.ts";
import { basename, join } from "node:path";

type Backend = Pick<FileBackend, "disk" | "sha256" | "identity" | "index" | "tasks">;

interface FoundLog {
  readonly end: ChainLink;
  /** The content of the file before this owner. */
  readonly state?: StoredSummary | undefined;
  /** The last summary. `undefined` if the log has no summary or it was not read. */
  readonly summary?: AgentSummary;
}

/**
 * Maintains `state.json` with an agent's status, and the agent's mark in the index. These files cannot change
 * atomically with the log. So before an append that changes the status, `state.json` is set to `changing`. It gets the
 * new status with the next append, heartbeat or release. If a reader finds a `changing` file, it reads the log.
 */
export class StateFile {
  readonly #folder: AgentFolder;
  readonly #backend: Backend;
  readonly #name: string;
  #marked: Marked | undefined;
  #end: ChainLink | undefined;
  #isChanging = false;
  /** The generation in the file. */
  #writtenIn: number | undefined;
  /** Whether an index existed at the last change of status. */
  #isIndexed = true;
  /** The generation in which the file last named a status that readers may use. */
  #settledIn: number | undefined;

  constructor(backend: Backend, folder: AgentFolder) {
    this.#backend = backend;
    this.#folder = folder;
    this.#name = basename(folder.path);
  }

  /**
   * When the promise resolves, no reader uses the old status, not even after power loss. Readers ignore a file of an
   * earlier generation, so only a status of this generation must be replaced durably.
   */
  async markChanging(summary: AgentSummary, generation: number, end: ChainLink): Promise<void> {
    await this.#write({ summary, generation, changing: true, end }, this.#settledIn === generation);
    this.#isIndexed = await this.#backend.index.mark(this.#name, { summary, generation }, this.#marked?.summary);
  }

  /** Accepts the new status when its append is durable. */
  async settle(summary: AgentSummary, generation: number): Promise<void> {
    const before = this.#marked;
    this.#marked = { summary, generation };
    if (before && this.#isIndexed) await this.#backend.index.unmark(this.#name, before, summary);
  }

  /**
   * Replaces a `changing` file, and a file of an earlier generation, whose readers read the log. Not synced. After power
   * loss, the file is still `changing` or damaged.
   */
  async writeStatus(end: ChainLink, generation: number): Promise<void> {
    if (this.#isChanging || this.#writtenIn !== generation) await this.noteEnd(end, generation);
  }

  /** Records the status and the end of the log, unless the last write of this generation did. Not synced. */
  async noteEnd(end: ChainLink, generation: number): Promise<void> {
    if (!this.#marked) return;
    const isNoted = this.#end?.position === end.position && this.#writtenIn === generation;
    if (isNoted && !this.#isChanging) return;
    const { summary, generation: marked } = this.#marked;
    await this.#write({ summary, generation, marked, changing: false, end }, false);
  }

  /** The file is durably removed when the promise resolves. */
  async remove(): Promise<void> {
    await this.#backend.disk.unlink(this.#folder.state);
    await this.#backend.disk.fsyncDir(this.#folder.path);
  }

  /** Removes the file if this generation wrote it. */
  async withdraw(generation: number): Promise<void> {
    if ((await readState(this.#backend, this.#name))?.generation === generation) await this.remove();
  }

  async unmark(): Promise<void> {
    await this.#backend.index.markDropped(this.#name);
    if (this.#marked) await this.#backend.index.unmark(this.#name, this.#marked);
  }

  /**
   * Rewrites a missing or unsettled file from the log. Also rewrites a file that is damaged, outdated or belongs to
   * another agent. In this case, resolves to the rebuilt summary.
   */
  async repair(generation: number, taken: FoundLog): Promise<RebuiltSummary | undefined> {
    // An empty log has no summary.
    if (taken.end.checksum === "" || (await this.#accepts(taken.state, taken))) return undefined;
    // The previous owner may have written the file after it was read.
    const state = await readState(this.#backend, this.#name);
    if (await this.#accepts(state, taken)) return undefined;
    const file = this.#folder.state;
    const isDamaged = state ? !state.changing : (await this.#backend.disk.stat(file)) !== undefined;
    const { summary } = await new LogReader(this.#folder, this.#backend).lastSummary();
    if (!summary) return undefined;
    await this.#backend.index.mark(this.#name, { summary, generation: 0 });
    this.#marked = { summary, generation };
    await this.#write({ ...this.#marked, changing: false, end: taken.end }, false);
    return isDamaged ? { file } : undefined;
  }

  async #accepts(state: StoredSummary | undefined, taken: FoundLog): Promise<boolean> {
    if (!state || state.changing || !(await this.#isCurrent(state, taken))) return false;
    const { summary, generation, marked = generation } = state;
    this.#marked = { summary, generation: marked };
    this.#end = state.end;
    this.#writtenIn = generation;
    return true;
  }

  /** Whether the file matches the log. Reads the log only if the log is longer than the file says. */
  async #isCurrent({ summary, end }: StoredSummary, { end: found, summary: last }: FoundLog): Promise<boolean> {
    if (!last && end?.position === found.position) return true;
    const recorded = last ?? (await new LogReader(this.#folder, this.#backend).lastSummary()).summary;
    return recorded !== undefined && this.#encoded(recorded) === this.#encoded(summary);
  }

  #encoded(summary: AgentSummary): string {
    return encodeState({ summary, generation: 1, changing: false }, this.#backend.sha256);
  }

  async #write(state: StoredSummary, durable: boolean): Promise<void> {
    const { disk, sha256 } = this.#backend;
    const bytes = Buffer.from(encodeState(state, sha256));
    if (!state.changing) this.#settledIn = state.generation;
    this.#isChanging = state.changing;
    this.#writtenIn = state.generation;
    await replaceAtomically(disk, this.#folder, this.#folder.state, state.generation, bytes, durable);
    this.#end = state.end;
  }
}

export async function readState(
  { disk, tasks, sha256 }: Pick<FileBackend, "disk" | "sha256" | "tasks">,
  name: string,
): Promise<StoredSummary | undefined> {
  const bytes = await disk.readFile(join(tasks, name, "state.json"));
  const state = bytes && decodeState(bytes.toString(), sha256);
  return state && agentFolderName(state.summary.agentId, sha256) === name ? state : undefined;
}
