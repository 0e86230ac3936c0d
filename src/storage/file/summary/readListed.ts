import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { isAboutOneAgent, unreadableSummary } from "../../unreadableSummary.ts";
import { AgentFolder, agentFolderName, assertNoLinks, segmentGenerations } from "../layout/AgentFolder.ts";
import { lineBreak } from "../layout/Segment.ts";
import { decodeControl } from "../layout/controlLine.ts";
import type { StoredState } from "../layout/stateJson.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { openReader } from "../read/LogReader.ts";
import { readState } from "./StateFile.ts";
import { join } from "node:path";

/** An agent as its own files show it. */
export interface ListedAgent {
  /** `undefined` when it is not listed: it has no status, was deleted, or is not there. */
  readonly summary: AgentSummary | undefined;
  /** The newest owner; absent: there was none, or it cannot be read. */
  readonly newest?: number | undefined;
  /** True when the last that happened to the agent is that it was deleted. */
  readonly dropped?: boolean;
  /** What an owner has said that it is about to append; absent: nothing. */
  readonly pending?: StoredState | undefined;
}

/**
 * The summary of an agent: from `state.json` where it is settled and by the newest owner, else from the log. One agent that
 * cannot be read is listed as unreadable and does not affect the others.
 *
 * @param name of its folder.
 * @param atLeast a position that the index knows of: an older `state.json` is not the one that belongs there.
 */
export async function readListed(backend: FileBackend, name: string, atLeast = 0): Promise<ListedAgent> {
  try {
    return await listed(backend, name, atLeast);
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    const agentId = await agentIdOf(backend, name).catch(() => undefined);
    return { summary: unreadableSummary(agentId ?? name, error) };
  }
}

async function listed(backend: FileBackend, name: string, atLeast: number): Promise<ListedAgent> {
  const { disk, tasks, sha256 } = backend;
  const path = join(tasks, name);
  await assertNoLinks(disk, [path, join(path, "checkpoints")]);
  const [newest] = segmentGenerations((await disk.readdir(join(path, "checkpoints"))) ?? []);
  const state = await readState(backend, name);
  if (state && !state.changing && state.generation === newest && state.summary.position >= atLeast)
    return { summary: state.summary, newest };
  const agentId = state?.summary.agentId ?? (await agentIdOf(backend, name));
  if (agentId === undefined) return nameless(backend, name, newest);
  const found = await openReader(backend, new AgentFolder(tasks, agentId, sha256)).lastSummary();
  return { ...found, newest, ...(state?.changing && { pending: state }) };
}

/** @throws CorruptLogError unless a first open was interrupted. */
async function nameless(backend: FileBackend, name: string, newest: number | undefined): Promise<ListedAgent> {
  const path = join(backend.tasks, name);
  if (newest === undefined && !(await holdsFiles(backend, path))) return { summary: undefined };
  throw new CorruptLogError(name, { file: path }, "no file of it says whose it is");
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
