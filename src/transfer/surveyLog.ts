import type { ChainLink } from "../checkpoint/format/EntryChain.ts";
import { decodeEntry, generationOfLine, linkOf } from "../checkpoint/format/entryCodec.ts";
import { liveEntries, pruningIn } from "../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import { initialStatus, statusAfter } from "../checkpoint/state/StatusState.ts";
import { includesText } from "../internal/bytes.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { Pace } from "../internal/Pace.ts";
import { assertOfAgent } from "../storage/readEntries.ts";
import type { CopiedLog } from "./keptLines.ts";

/** What has to be known of a log before its lines are exported. */
export interface LogSurvey {
  /** The last append that says more than whether the agent may run here. `undefined`: there is none. */
  readonly last: (ChainLink & { readonly generation: number }) | undefined;
  /** Whether the agent may run here. `undefined`: it may. */
  readonly custody: CustodyRecord | undefined;
  /** What is up to this position counts only as the newest pruning restates it. 0: nothing was pruned. */
  readonly prunedUpTo: number;
}

/** A line without any of them is not parsed. A search is as fast as their first character is rare. */
const marks = [':"custody"', ':"origin"', ':"pruned"'].map((text) => new TextEncoder().encode(text));

/**
 * Goes over the lines of a log, which the log verifies, and parses the few that matter.
 *
 * @throws WrongShapeError when the log is no agent's.
 */
export async function surveyLog(
  log: Pick<CopiedLog, "lines">,
  agentId: string,
  { sha256, ...options }: { readonly sha256: Sha256; readonly upTo?: number },
): Promise<LogSurvey> {
  const pace = new Pace();
  const marked: Entry[] = [];
  let last: Uint8Array | undefined;
  for await (const line of log.lines(agentId, options)) {
    if (last === undefined) assertOfAgent(agentId, entryOf(line, sha256) ?? { records: [] });
    await pace.after(line.length);
    const entry = marks.some((mark) => includesText(line, mark)) ? entryOf(line, sha256) : undefined;
    if (entry) marked.push(entry);
    if (!entry || entry.records.some(isAboutMore)) last = line;
  }
  return { last: last && placeOf(last, sha256), custody: custodyIn(marked), prunedUpTo: pruningIn(marked)?.upTo ?? 0 };
}

function placeOf(line: Uint8Array, sha256: Sha256): LogSurvey["last"] {
  const [link, generation] = [linkOf(line), generationOfLine(line, sha256)];
  return link && generation ? { ...link, generation } : undefined;
}

function entryOf(line: Uint8Array, sha256: Sha256): Entry | undefined {
  const decoded = decodeEntry(line, sha256);
  return decoded.ok ? decoded.entry : undefined;
}

function isAboutMore(record: { readonly kind: string; readonly asksAgain?: true }): boolean {
  return record.kind !== "custody" || record.asksAgain === true;
}

function custodyIn(marked: readonly Entry[]): CustodyRecord | undefined {
  const records = liveEntries(marked).flatMap((entry) => entry.records as readonly AgentRecord[]);
  const about = records.filter(({ kind }) => kind === "custody" || kind === "origin");
  return about.reduce((state, record) => statusAfter(state, record, 1), initialStatus).custody;
}
