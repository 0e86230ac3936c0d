import type { Pace } from "../../internal/nextTurn.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type AgentRecord, type RestatedEntry, isOfState } from "../records/AgentRecord.ts";
import type { LaneRecord, CheckpointRecord } from "../records/lineRecords.ts";
import type { Entry } from "../records/Entry.ts";
import type { ReplyRecord, RequestRecord } from "../records/requestRecords.ts";
import type { EndedRecord } from "../records/runRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import { recordByValue } from "../state/foldTo.ts";
import { keptStates, type KeptStates } from "./keptStates.ts";
import { neededCalls, type IsNeeded } from "./neededCalls.ts";
import type { Pack } from "../values/BlobCell.ts";

/**
 * Rewrites a log so that it contains only the given checkpoints, the calls that rollbacks to them revert, the results
 * of runs, and the records that belong to no checkpoint. Takes about as long as reading the log once.
 *
 * @param kept - the versions that `neededCheckpoints` returns for the wanted versions and the heads.
 */
export async function rewriteKept(
  entries: readonly Entry[],
  index: LogProjection,
  kept: ReadonlySet<number>,
  hasInverse: (tool: string) => boolean,
  pace: Pace,
): Promise<readonly RestatedEntry[]> {
  const states = await keptStates(index, kept, pace);
  const isNeeded = await neededCalls(index, [...states.deltas.values()].flat(), kept, hasInverse, pace);
  const rewriting = new Rewriting(index, kept, states, isNeeded);
  const restated: RestatedEntry[] = [];
  for (const { position, generation, checksum, records } of entries) {
    const left = (records as readonly AgentRecord[]).flatMap((record) => rewriting.rewritten(record));
    if (left.length > 0) restated.push({ position, generation, checksum, records: left });
    await pace.after(estimateBytes(records));
  }
  return withoutIdleLanes(restated, index);
}

class Rewriting {
  readonly #index: LogProjection;
  readonly #states: KeptStates;
  readonly #isNeeded: IsNeeded;
  readonly #origins = new Map<number, number>();
  readonly #heads = new Map<number, number>();
  #order = -1;

  constructor(index: LogProjection, kept: ReadonlySet<number>, states: KeptStates, isNeeded: IsNeeded) {
    this.#index = index;
    this.#states = states;
    for (const { version, parent } of index.checkpoints.values()) {
      const origin = kept.has(version) ? version : parent === undefined ? undefined : this.#origins.get(parent);
      if (origin !== undefined) this.#origins.set(version, origin);
    }
    this.#isNeeded = isNeeded;
    for (const lane of index.lines.openLanes) this.#heads.set(lane, index.latestOf(lane)?.order ?? -1);
  }

  rewritten(record: AgentRecord): readonly AgentRecord[] {
    this.#order++;
    if (record.kind === "checkpoint") return this.#checkpoint(record);
    if (record.kind === "lane") return [this.#lane(record)];
    if (this.#isReceipt(record)) return [withoutValues(record)];
    if (!this.#isKept(record) || this.#isPastName(record)) return [];
    return [recordByValue(this.#index, { record, order: this.#order, position: 0 })];
  }

  #checkpoint(record: CheckpointRecord): readonly AgentRecord[] {
    const { version, status } = record;
    const delta = this.#states.deltas.get(version);
    if (delta) return delta;
    return status === undefined ? [] : [this.#ended(record, status)];
  }

  #ended({ lane, version, usage, digest }: CheckpointRecord, status: EndedRecord["status"]): EndedRecord {
    const run = this.#index.checkpoints.get(version)?.runId ?? "";
    const output = this.#states.outputs.get(version);
    return withoutUndefined({ kind: "ended", lane, run, version, status, output, usage, digest });
  }

  #lane(record: LaneRecord): LaneRecord {
    const { from: before, ...own } = record;
    if (before === undefined || !this.#index.checkpoints.has(before)) return record;
    const from = this.#origins.get(before);
    if (from === undefined || (from !== before && !this.#isOfLine(record.lane, from)))
      return { ...own, keep: "nothing" };
    return { ...own, from, keep: this.#states.keeps.get(record.lane) ?? record.keep };
  }

  /** A lane of a branch or sub-agent can start only at a checkpoint of the same branch or sub-agent. */
  #isOfLine(lane: number, from: number): boolean {
    const { lines, checkpoints } = this.#index;
    const line = lines.nestedLine(lane);
    return line === undefined || line === lines.nestedLine(checkpoints.get(from)?.record.lane ?? -1);
  }

  #isKept(record: AgentRecord): boolean {
    const { kind } = record;
    if (kind === "snapshot" || kind === "pruned") return false;
    if (kind === "answer" || kind === "intent" || kind === "outcome") return this.#isNeeded(record);
    if ("lane" in record && this.#isOver(record.lane)) return !isOfLaneOnly(record);
    // A kept checkpoint contains all changes since the previous one. Records after the head are kept as well.
    if (!isOfState(record)) return true;
    return "lane" in record && this.#order > (this.#heads.get(record.lane) ?? Infinity);
  }

  /** Whether the record shows that a finished lane received an event. A rollback makes the event available again. */
  #isReceipt(record: AgentRecord): record is RequestRecord | ReplyRecord {
    if (record.kind !== "request" && record.kind !== "reply") return false;
    const isOfEvent = this.#index.requests.get(record.request)?.record.event !== undefined;
    return isOfEvent && this.#isOver(record.lane);
  }

  #isPastName(record: AgentRecord): boolean {
    if (record.kind !== "name") return false;
    return record.version === undefined || this.#index.names.versionOf(record.name) !== record.version;
  }

  #isOver(lane: number): boolean {
    return !this.#heads.has(lane) && !this.#states.keeps.has(lane);
  }
}

function withoutValues(record: RequestRecord | ReplyRecord): AgentRecord {
  if (record.kind === "request") return { ...record, prompt: null, schema: null };
  return record.answer === undefined ? record : { ...record, answer: null };
}

function isOfLaneOnly(record: AgentRecord): boolean {
  const { kind } = record;
  if (kind === "structure") return record.structure === undefined;
  return isOfState(record) || kind === "request" || kind === "reply";
}

/** Removes branches and sub-agents without content. The newest lane stays, so that its number is not used again. */
function withoutIdleLanes(
  restated: readonly RestatedEntry[],
  { lines, nextLane }: Pick<LogProjection, "lines" | "nextLane">,
): readonly RestatedEntry[] {
  const used = new Set<number>();
  const use = (lane: number): void => {
    for (const { first } of lines.around(lane)) used.add(first);
  };
  use(nextLane - 1);
  for (const { records } of restated)
    for (const record of records) if (record.kind !== "lane" && "lane" in record) use(record.lane);
  const isUsed = (record: AgentRecord): boolean => {
    const line = record.kind === "lane" ? lines.nestedLine(record.lane) : undefined;
    return line === undefined || used.has(line.first);
  };
  return restated.flatMap((entry) => {
    const records = entry.records.filter(isUsed);
    return records.length > 0 ? [{ ...entry, records }] : [];
  });
}

/** Removes packs without needed contents. A pack is a blob with several contents, and stays or goes as a whole. */
export function withoutPacks(
  restated: readonly RestatedEntry[],
  needed: ReadonlySet<string>,
): readonly RestatedEntry[] {
  return restated.map((entry) => ({ ...entry, records: entry.records.map((record) => leaner(record, needed)) }));
}

function leaner(record: AgentRecord, needed: ReadonlySet<string>): AgentRecord {
  if (record.kind === "note") return { ...record, ...leanerPacks(record, needed) };
  if (record.kind !== "rollback" || !record.participants) return record;
  const participants = record.participants.map((steps) => ({ ...steps, ...leanerPacks(steps, needed) }));
  return { ...record, participants };
}

function leanerPacks(
  { packs }: { readonly packs?: readonly Pack[] },
  needed: ReadonlySet<string>,
): { readonly packs?: readonly Pack[] } {
  return packs ? { packs: packs.filter(({ contents }) => contents.some(([hash]) => needed.has(hash))) } : {};
}
