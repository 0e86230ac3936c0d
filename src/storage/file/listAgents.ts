import { join } from "node:path";
import { CorruptLogError } from "../../errors/CorruptLogError.ts";
import type { AgentSummary } from "../RecordLog.ts";
import { AgentFolder, agentFolderName, segmentGenerations } from "./AgentFolder.ts";
import { decodeControl } from "./controlLine.ts";
import type { FileBackend } from "./FileBackend.ts";
import { readerOf } from "./readerOf.ts";
import { lineBreak } from "./Segment.ts";
import { decodeState } from "./stateJson.ts";

/** How many agents are read at a time, which bounds the files open at once. */
const atOnce = 16;

/** The summaries of all agents: from `state.json` where it is settled and by the newest owner, else from the log. */
export async function listAgents(backend: FileBackend): Promise<AgentSummary[]> {
  const names = (await backend.disk.readdir(backend.tasks)) ?? [];
  const summaries: AgentSummary[] = [];
  for (let at = 0; at < names.length; at += atOnce) {
    const some = await Promise.all(names.slice(at, at + atOnce).map((name) => summaryOf(backend, name)));
    summaries.push(...some.flatMap((summary) => summary ?? []));
  }
  return summaries;
}

async function summaryOf(backend: FileBackend, name: string): Promise<AgentSummary | undefined> {
  const { disk, sha256, tasks } = backend;
  const path = join(tasks, name);
  const [newest] = segmentGenerations((await disk.readdir(join(path, "checkpoints"))) ?? []);
  if (newest === undefined) return undefined;
  const bytes = await disk.readFile(join(path, "state.json"));
  const state = bytes && decodeState(bytes.toString(), sha256);
  const settled = state !== undefined && !state.changing && state.generation === newest;
  if (settled && agentFolderName(state.summary.agentId, sha256) === name) return state.summary;
  const segment = join(path, "checkpoints", `${newest}.jsonl`);
  const claim = await disk.readFile(segment);
  // Between listing and reading, its owner may have put a newer segment in its place.
  if (claim === undefined) return summaryOf(backend, name);
  const agentId = decodeControl("claim", claim.subarray(0, Math.max(0, claim.indexOf(lineBreak))), sha256)?.agentId;
  if (agentId === undefined || agentFolderName(agentId, sha256) !== name) {
    throw new CorruptLogError(
      agentId ?? name,
      { file: segment, line: 1 },
      "the claim of its owner is not of this agent",
    );
  }
  return readerOf(backend, new AgentFolder(tasks, agentId, sha256)).lastSummary();
}
