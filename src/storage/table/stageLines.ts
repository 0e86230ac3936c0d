import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { isSnapshotLine } from "../../checkpoint/format/entryCodec.ts";
import { ReceivedLines } from "../../checkpoint/format/ReceivedLines.ts";
import { prunedGapsOf } from "../../checkpoint/records/prunedGaps.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { EncodedAppend } from "../ownership/encodeAppend.ts";
import type { LogAppend, RecordLog, StoredLines } from "../RecordLog.ts";
import type { TableAppend } from "./LogTable.ts";
import { tableSummary } from "./listTable.ts";

export type LastAppend = Parameters<NonNullable<RecordLog["receive"]>>[3];

const linesAtOnce = 100;

/** Checks and stages the lines of another log in batches. Returns their start and end. */
export async function stageLines(
  { lines, generation }: StoredLines,
  agentId: string,
  sha256: Sha256,
  stage: (appends: readonly TableAppend[], first: boolean) => Promise<void>,
): Promise<{ readonly start: number; readonly end: ChainLink }> {
  const checked = new ReceivedLines(agentId, generation, sha256);
  let waiting: TableAppend[] = [];
  let staged = false;
  let start: number | undefined;
  const flush = async () => {
    await stage(waiting, !staged);
    [waiting, staged] = [[], true];
  };
  for await (const line of lines) {
    const known = checked.gaps.length;
    const { position } = checked.accept(line);
    start ??= position - 1;
    const pruned = checked.gaps.length > known;
    waiting.push({ position, line: new Uint8Array(line), snapshot: isSnapshotLine(line), pruned });
    if (waiting.length >= linesAtOnce) await flush();
  }
  const end = checked.end();
  await flush();
  return { start: start ?? 0, end };
}

export function rowOf(
  { records, snapshot = false }: LogAppend,
  { line, end: { position }, summary }: EncodedAppend,
  sha256: Sha256,
): TableAppend {
  return {
    position,
    line: line.subarray(0, -1),
    snapshot,
    pruned: prunedGapsOf(records).length > 0,
    ...(summary && { summary: tableSummary(summary, sha256) }),
  };
}
