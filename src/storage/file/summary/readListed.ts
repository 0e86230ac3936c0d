import { CorruptLogError } from "../../../errors/storedDataErrors.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { isAboutOneAgent, unreadableSummary } from "../../summaries.ts";
import { AgentFolder, agentFolderName, assertNoLinks, segmentGenerations } from "../layout/AgentFolder.ts";
import { lineBreak } from "../layout/Segment.ts";
import { decodeControl } from "../layout/controlLine.ts";
import type { StoredSummary } from "../layout/stateJson.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { openReader } from "../read/LogReader.ts";
import { readState } from "./StateFile.ts";
import { join } from "node:path";

export interface ListedSummary {
  /** `undefined` if the agent is not listed: it has no status, was deleted or does not exist. */
  readonly summary: AgentSummary | undefined;
  readonly newest?: number | undefined;
  readonly dropped?: boolean;
  /** The announced state of the next append. `undefined` if no change is announced. */
  readonly pending?: StoredSummary | undefined;
}

/**
 * Returns the summary of an agent. Uses `state.json` if the newest owner settled it, and the log otherwise. An
 * unreadable agent is listed as unreadable and does not affect other agents.
 *
 * @param name - the name of the agent's directory.
 * @param atLeast - an indexed position. An older `state.json` is outdated.
 */
export async function readListed(backend: FileBackend, name: string, atLeast = 0): Promise<ListedSummary> {
  try {
    return await listed(backend, name, atLeast);
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    const agentId = await agentIdOf(backend, name).catch(() => undefined);
    return { summary: unreadableSummary(agentId ?? name, error) };
  }
}

async function listed(backend: FileBackend, name: string, atLeast: number): Promise<ListedSummary> {
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
async function nameless(backend: FileBackend, name: string, newest: number | undefined): Promise<ListedSummary> {
  const path = join(backend.tasks, name);
  if (newest === undefined && !(await holdsFiles(backend, path))) return { summary: undefined };
  throw new CorruptLogError(name, { file: path }, "the files of the directory do not contain the id of their agent");
}

async function agentIdOf(backend: FileBackend, name: string): Promise<string | undefined> {
  const { disk, sha256, tasks } = backend;
  const stated = (await readState(backend, name))?.summary.agentId;
  if (stated !== undefined) return stated;
  const checkpoints = join(tasks, name, "checkpoints");
  for (const generation of segmentGenerations((await disk.readdir(checkpoints)) ?? [])) {
    const bytes = await disk.readFile(join(checkpoints, `${generation}.jsonl`));
    // The owner may have replaced the segment since.
    if (bytes === undefined) return agentIdOf(backend, name);
    const claim = decodeControl("claim", bytes.subarray(0, Math.max(0, bytes.indexOf(lineBreak))), sha256);
    if (claim && agentFolderName(claim.agentId, sha256) === name) return claim.agentId;
  }
  return undefined;
}

/** Whether the directory contains an agent. An interrupted first open may leave an empty directory. */
async function holdsFiles({ disk }: FileBackend, path: string): Promise<boolean> {
  if ((await disk.stat(join(path, "state.json"))) !== undefined) return true;
  const names = await Promise.all(["owners", "blobs"].map((folder) => disk.readdir(join(path, folder))));
  return names.some((found) => (found?.length ?? 0) > 0);
}
