import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { isAboutOneAgent, unreadableSummary } from "../../unreadableSummary.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import {
  AgentFolder,
  agentFolderName,
  assertNoLinks,
  isAgentFolderName,
  replaceAtomically,
  segmentGenerations,
} from "../layout/AgentFolder.ts";
import { lineBreak } from "../layout/Segment.ts";
import { decodeControl } from "../layout/controlLine.ts";
import { decodeState, encodeState, type StoredState } from "../layout/stateJson.ts";
import { openReader } from "../read/LogReader.ts";
import { basename, join } from "node:path";

/** How many agents are read at a time, which bounds the files open at once. */
const atOnce = 16;

/** The summaries of all agents: from `state.json` where it is settled and by the newest owner, else from the log. */
export async function listAgents(backend: FileBackend): Promise<AgentSummary[]> {
  const names = ((await backend.disk.readdir(backend.tasks)) ?? []).filter(isAgentFolderName);
  const summaries: AgentSummary[] = [];
  for (let at = 0; at < names.length; at += atOnce) {
    const some = await Promise.all(names.slice(at, at + atOnce).map((name) => listed(backend, name)));
    summaries.push(...some.flatMap((summary) => summary ?? []));
  }
  return summaries;
}

/** One agent that cannot be read is listed as unreadable and does not affect the others. */
async function listed(backend: FileBackend, name: string): Promise<AgentSummary | undefined> {
  try {
    return await summaryOf(backend, name);
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    const agentId = await agentIdOf(backend, name).catch(() => undefined);
    return unreadableSummary(agentId ?? name, error);
  }
}

async function summaryOf(backend: FileBackend, name: string): Promise<AgentSummary | undefined> {
  const { disk, tasks, sha256 } = backend;
  const path = join(tasks, name);
  await assertNoLinks(disk, [path, join(path, "checkpoints")]);
  const [newest] = segmentGenerations((await disk.readdir(join(path, "checkpoints"))) ?? []);
  const state = await readState(backend, name);
  if (state !== undefined && !state.changing && state.generation === newest) return state.summary;
  const agentId = state?.summary.agentId ?? (await agentIdOf(backend, name));
  if (agentId !== undefined) return openReader(backend, new AgentFolder(tasks, agentId, sha256)).lastSummary();
  if (newest === undefined && !(await holdsFiles(backend, path))) return undefined;
  throw new CorruptLogError(name, { file: path }, "no file of it says whose it is");
}

/** `undefined` when it is missing or damaged, or belongs to another agent. */
async function readState(
  { disk, tasks, sha256 }: Pick<FileBackend, "disk" | "tasks" | "sha256">,
  name: string,
): Promise<StoredState | undefined> {
  const bytes = await disk.readFile(join(tasks, name, "state.json"));
  const state = bytes && decodeState(bytes.toString(), sha256);
  return state && agentFolderName(state.summary.agentId, sha256) === name ? state : undefined;
}

/** The id that a folder's name was made of, as `state.json` or the claim of an owner has it. */
async function agentIdOf(backend: FileBackend, name: string): Promise<string | undefined> {
  const { disk, sha256, tasks } = backend;
  const stated = (await readState(backend, name))?.summary.agentId;
  if (stated !== undefined) return stated;
  const checkpoints = join(tasks, name, "checkpoints");
  for (const generation of segmentGenerations((await disk.readdir(checkpoints)) ?? [])) {
    const bytes = await disk.readFile(join(checkpoints, `${generation}.jsonl`));
    // Its owner may have put a newer one in its place.
    if (bytes === undefined) return agentIdOf(backend, name);
    const claim = decodeControl("claim", bytes.subarray(0, Math.max(0, bytes.indexOf(lineBreak))), sha256);
    if (claim && agentFolderName(claim.agentId, sha256) === name) return claim.agentId;
  }
  return undefined;
}

/** Whether there was an agent: a first open that a crash interrupted may leave its folder alone. */
async function holdsFiles({ disk }: FileBackend, path: string): Promise<boolean> {
  if ((await disk.stat(join(path, "state.json"))) !== undefined) return true;
  const names = await Promise.all(["owners", "blobs"].map((folder) => disk.readdir(join(path, folder))));
  return names.some((found) => (found?.length ?? 0) > 0);
}

/**
 * The picture of an agent's status beside its log. It cannot change at once with the log, so it says `changing` on the
 * device before the append that changes the status, and is settled after. A reader that finds `changing` asks the log.
 */
export class StateFile {
  readonly #folder: AgentFolder;
  readonly #backend: Pick<FileBackend, "disk" | "tasks" | "sha256">;
  /** Where the log ended, as the file that was written last says. */
  #end: ChainLink | undefined;

  constructor(backend: Pick<FileBackend, "disk" | "tasks" | "sha256">, folder: AgentFolder) {
    this.#backend = backend;
    this.#folder = folder;
  }

  /** Durable when it resolves. */
  async markChanging(summary: AgentSummary, generation: number, end: ChainLink): Promise<void> {
    await this.#write({ summary, generation, changing: true, end }, true);
  }

  /** Not synced: if it is lost, the one that says `changing` is still there, or a damaged one. */
  async settle(summary: AgentSummary, generation: number, end: ChainLink): Promise<void> {
    await this.#write({ summary, generation, changing: false, end }, false);
  }

  /** Says how far the log reaches, if more was appended since the status changed. Not synced. */
  async noteEnd(end: ChainLink): Promise<void> {
    if (this.#end?.position === end.position) return;
    const state = await readState(this.#backend, basename(this.#folder.path));
    if (state !== undefined && state.end?.position !== end.position) await this.#write({ ...state, end }, false);
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
    this.#end = state.end;
  }
}

/** Writes `state.json` anew from the log when it is missing, damaged or was left while it changed. */
export async function repairState(
  backend: FileBackend,
  folder: AgentFolder,
  generation: number,
  end: ChainLink,
): Promise<void> {
  const state = await readState(backend, basename(folder.path));
  if (state !== undefined && !state.changing) return;
  const summary = await openReader(backend, folder).lastSummary();
  if (summary !== undefined) await new StateFile(backend, folder).settle(summary, generation, end);
}
