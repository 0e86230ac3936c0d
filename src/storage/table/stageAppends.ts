import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { hasSnapshot } from "../../checkpoint/format/entryCodec.ts";
import { ReceivedAppends } from "../../checkpoint/format/ReceivedAppends.ts";
import { prunedGapsOf } from "../../checkpoint/records/prunedGaps.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { EncodedAppend } from "../ownership/encodeAppend.ts";
import type { LogAppend, RecordLog, StoredAppends } from "../RecordLog.ts";
import type { TableAppend } from "./LogTable.ts";
import { tableSummary } from "./listTable.ts";

export type LastAppend = Parameters<NonNullable<RecordLog["receive"]>>[3];

const appendsAtOnce = 100;

/** Checks and stages the appends of another log in batches. Returns their start and end. */
export async function stageAppends(
  { appends, generation }: StoredAppends,
  agentId: string,
  sha256: Sha256,
  stage: (appends: readonly TableAppend[], first: boolean) => Promise<void>,
): Promise<{ readonly start: number; readonly end: ChainLink }> {
  const checked = new ReceivedAppends(agentId, generation, sha256);
  let waiting: TableAppend[] = [];
  let staged = false;
  let start: number | undefined;
  const flush = async () => {
    await stage(waiting, !staged);
    [waiting, staged] = [[], true];
  };
  for await (const encoded of appends) {
    const known = checked.gaps.length;
    const { position } = checked.accept(encoded);
    start ??= position - 1;
    const pruned = checked.gaps.length > known;
    waiting.push({ position, encoded: new Uint8Array(encoded), snapshot: hasSnapshot(encoded), pruned });
    if (waiting.length >= appendsAtOnce) await flush();
  }
  const end = checked.end();
  await flush();
  return { start: start ?? 0, end };
}

export function rowOf(
  { records, snapshot = false }: LogAppend,
  { encoded, end: { position }, summary }: EncodedAppend,
  sha256: Sha256,
): TableAppend {
  return {
    position,
    encoded: encoded.subarray(0, -1),
    snapshot,
    pruned: prunedGapsOf(records).length > 0,
    ...(summary && { summary: tableSummary(summary, sha256) }),
  };
}
