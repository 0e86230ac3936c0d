import type { NestedLine } from "../lines/Lines.ts";
import { HistoryFold } from "../messages/HistoryFold.ts";
import type { StoredMessage } from "../messages/storedHistory.ts";
import { type DecisionRecord, forkOf, type RequirementsRecord, type SettingsRecord } from "../records/lineRecords.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { visitAt } from "./AgentState.ts";
import type { CheckpointPoint } from "./CheckpointPoint.ts";
import { foldLine, foldTo } from "./foldTo.ts";
import { byValue } from "./leanState.ts";
import { lineValue } from "./lineValue.ts";
import type { LogProjection, OrderedRecord } from "./LogProjection.ts";

/** What a line did to the history and the storage that it began with. */
interface LineChanges {
  /** The messages that it added and did not remove again, in order, without references but to blobs. */
  readonly messages: readonly StoredMessage[];
  /** The keys that it set or deleted; `undefined`: deleted. */
  readonly storage: ReadonlyMap<string, { readonly value: StoredValue } | undefined>;
}

/**
 * What a branch did since its fork. Each part is computed from the branch's own records when it is first asked for: 10,000
 * branches do not need 10,000 copies of the history that they began with.
 */
export class BranchResult {
  readonly #index: LogProjection;
  #records: readonly OrderedRecord[] | undefined;
  #changes: LineChanges | undefined;

  constructor(
    index: LogProjection,
    readonly line: NestedLine,
  ) {
    this.#index = index;
  }

  /** The branch's newest checkpoint. It has `ended` once the branch has its output. */
  get checkpoint(): CheckpointPoint | undefined {
    return this.#index.latestOf(this.line.lane);
  }

  /** Without references but to blobs. `undefined` while the branch has not ended. */
  get output(): StoredValue {
    const { record, order } = this.checkpoint ?? {};
    return record?.ended ? lineValue(this.#index, record.lane, record.input, order) : undefined;
  }

  /** The lanes that lead to the newest one, from the one on which it began. */
  get lanes(): readonly number[] {
    const { lane } = this.line;
    const lanes = [lane];
    for (let at = lane; lanes.length <= this.#index.lanes.size;) {
      const from = this.#index.lanes.get(at)?.record.from;
      const origin = from === undefined ? undefined : this.#index.checkpoints.get(from);
      if (origin === undefined) break;
      at = origin.record.lane;
      lanes.unshift(at);
    }
    return lanes;
  }

  get messages(): readonly StoredMessage[] {
    return this.#changed.messages;
  }

  get storage(): LineChanges["storage"] {
    return this.#changed.storage;
  }

  /** The decisions since the fork. */
  get decisions(): readonly DecisionRecord[] {
    return this.#own.flatMap(({ record }) => (record.kind === "decision" ? [record] : []));
  }

  /** All that the branch requires; `undefined`: what it began with. */
  get requirements(): RequirementsRecord | undefined {
    return this.#last("requirements");
  }

  /** The settings at its end; `undefined`: those that it began with. */
  get settings(): SettingsRecord | undefined {
    return this.#last("settings");
  }

  /** Its whole history, without references but to blobs; `undefined`: that of the fork, and then {@link messages}. */
  get history(): readonly StoredMessage[] | undefined {
    const [first] = this.#own;
    const isFresh = first?.record.kind === "lane" && first.record.keep !== "all";
    if (!isFresh && !this.#own.some(changesWhatWasThere)) return undefined;
    const state = foldLine(this.#index, this.line.lane);
    return state?.history.map(({ number, message }) => ({ number, message: byValue(message, state) }));
  }

  /** How many iterations it made, with those of the branches in it. */
  get iterations(): number {
    const fork = this.#index.checkpoints.get(forkOf(this.line) ?? -1);
    const begun = fork?.record.iteration ?? 0;
    return Math.max(0, (this.checkpoint?.record.iteration ?? begun) - begun);
  }

  #last<Kind extends "requirements" | "settings">(kind: Kind): Extract<AgentRecord, { kind: Kind }> | undefined {
    return this.#own.findLast(({ record }) => record.kind === kind)?.record as
      | Extract<AgentRecord, { kind: Kind }>
      | undefined;
  }

  /** The records on the way from the fork to the newest checkpoint. */
  get #own(): readonly OrderedRecord[] {
    this.#records ??= this.lanes.flatMap((lane, at, lanes) => {
      const next = lanes[at + 1];
      const from = next === undefined ? undefined : this.#index.lanes.get(next)?.record.from;
      const end = (from === undefined ? undefined : this.#index.checkpoints.get(from)?.order) ?? Infinity;
      return (this.#index.laneRecords.get(lane) ?? []).filter(({ order }) => order <= end);
    });
    return this.#records;
  }

  get #changed(): LineChanges {
    this.#changes ??= this.#own.some(changesWhatWasThere) ? this.#folded() : this.#added();
    return this.#changes;
  }

  #added(): LineChanges {
    const history = new HistoryFold();
    const storage = new Map<string, { readonly value: StoredValue } | undefined>();
    for (const { record, order } of this.#own) {
      const stored = ({ number, message }: StoredMessage, lane: number): StoredMessage => ({
        number,
        message: lineValue(this.#index, lane, message, order),
      });
      if (record.kind === "storage") storage.set(record.key, "value" in record ? { value: record.value } : undefined);
      else if (record.kind === "message") history.push(stored(record, record.lane));
      else if (record.kind === "edit")
        history.edit({ ...record, insert: record.insert.map((entry) => stored(entry, record.lane)) });
    }
    return { messages: history.entries(), storage };
  }

  /** Where messages were removed or moved, the order follows from the whole history alone. */
  #folded(): LineChanges {
    const { place, lane } = this.line;
    const fork = "fork" in place ? this.#index.checkpoints.get(place.fork) : undefined;
    const before = fork && foldTo(this.#index, fork);
    const after = foldLine(this.#index, lane);
    if (!before || !after) return this.#added();
    const known = new Set(before.history.map(({ number }) => number));
    const added = after.history.filter(({ number }) => !known.has(number));
    const storage = new Map<string, { readonly value: StoredValue } | undefined>();
    for (const key of before.storage.keys()) if (!after.storage.has(key)) storage.set(key, undefined);
    for (const [key, value] of after.storage) if (value !== before.storage.get(key)) storage.set(key, { value });
    return { messages: added.map(({ number, message }) => ({ number, message: byValue(message, after) })), storage };
  }
}

function changesWhatWasThere({ record }: OrderedRecord): boolean {
  return record.kind === "edit" || (record.kind === "lane" && record.from !== undefined && record.keep !== "all");
}

/**
 * The branches that a checkpoint has joined, or that the visit of which it was made within has, by their keys in the order in
 * which they began; `undefined`: none were joined.
 */
export function joinedBranches(
  index: LogProjection,
  point: CheckpointPoint,
): ReadonlyMap<string, BranchResult> | undefined {
  const fork = point.record.joined ?? index.checkpoints.get(visitAt(point)[0])?.record.joined;
  return fork === undefined ? undefined : branchesOf(index, fork);
}

/** The branches of a fork, by its version, ended or not: by their keys in the order in which they began. */
export function branchesOf(index: LogProjection, fork: number): ReadonlyMap<string, BranchResult> {
  const results = new Map<string, BranchResult>();
  for (const line of index.lines.branchesOf(fork))
    if ("branch" in line.place) results.set(line.place.branch, new BranchResult(index, line));
  return results;
}
