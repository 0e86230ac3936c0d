import type { NestedLine } from "../lines/Lines.ts";
import { lanesOfLine } from "../lines/lineage.ts";
import { HistoryFold, type StoredMessage } from "../messages/LinkedHistory.ts";
import {
  type DecisionRecord,
  parallelStartOf,
  type RequirementsRecord,
  type SettingsRecord,
  type CheckpointPoint,
} from "../records/lineRecords.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import { visitAt } from "./AgentState.ts";
import { foldLine, foldTo } from "./foldTo.ts";
import { byValue } from "./leanState.ts";
import { lineValue } from "./lineValue.ts";
import type { LogProjection, OrderedRecord } from "./LogProjection.ts";

interface LineChanges {
  /** The messages that the branch added and did not remove again, in order. */
  readonly messages: readonly StoredMessage[];
  readonly storage: ReadonlyMap<string, { readonly value: StoredValue } | undefined>;
}

/** The changes of a branch since it started. Each change is computed when it is first read. */
export class BranchChanges {
  readonly #index: LogProjection;
  #records: readonly OrderedRecord[] | undefined;
  #changes: LineChanges | undefined;

  constructor(
    index: LogProjection,
    readonly line: NestedLine,
  ) {
    this.#index = index;
  }

  /** The newest checkpoint of the branch. Marked as `ended` if the branch has finished. */
  get checkpoint(): CheckpointPoint | undefined {
    return this.#index.latestOf(this.line.lane);
  }

  get output(): StoredValue {
    const { record, order } = this.checkpoint ?? {};
    return record?.ended ? lineValue(this.#index, record.lane, record.input, order) : undefined;
  }

  get lanes(): readonly number[] {
    return [...lanesOfLine(this.#index, this.line.lane)].reverse();
  }

  get messages(): readonly StoredMessage[] {
    return this.#changed.messages;
  }

  get storage(): LineChanges["storage"] {
    return this.#changed.storage;
  }

  get decisions(): readonly DecisionRecord[] {
    return this.#own.flatMap(({ record }) => (record.kind === "decision" ? [record] : []));
  }

  get requirements(): RequirementsRecord | undefined {
    return this.#last("requirements");
  }

  get settings(): SettingsRecord | undefined {
    return this.#last("settings");
  }

  /** The whole history of the branch. `undefined` if it is the history at the start, followed by {@link messages}. */
  get history(): readonly StoredMessage[] | undefined {
    const [first] = this.#own;
    const isFresh = first?.record.kind === "lane" && first.record.keep !== "all";
    if (!isFresh && !this.#own.some(changesWhatWasThere)) return undefined;
    const state = foldLine(this.#index, this.line.lane);
    return state?.history.map(({ number, message }) => ({ number, message: byValue(message, state) }));
  }

  get iterations(): number {
    const parallelStart = this.#index.checkpoints.get(parallelStartOf(this.line) ?? -1);
    const begun = parallelStart?.record.iteration ?? 0;
    return Math.max(0, (this.checkpoint?.record.iteration ?? begun) - begun);
  }

  #last<Kind extends "requirements" | "settings">(kind: Kind): Extract<AgentRecord, { kind: Kind }> | undefined {
    return this.#own.findLast(({ record }) => record.kind === kind)?.record as
      | Extract<AgentRecord, { kind: Kind }>
      | undefined;
  }

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

  /** After an edit, the order of the messages follows only from the whole history. */
  #folded(): LineChanges {
    const { place, lane } = this.line;
    const parallelStart = "fork" in place ? this.#index.checkpoints.get(place.fork) : undefined;
    const before = parallelStart && foldTo(this.#index, parallelStart);
    const after = foldLine(this.#index, lane);
    if (!before || !after) return this.#added();
    // A migration changes the messages from before the branch there and here, with the same numbers.
    const changed = (this.#index.laneRecords.get(place.parent) ?? []).flatMap(({ record }) =>
      record.kind === "edit" ? record.insert : [],
    );
    const known = new Set([...before.history, ...changed].map(({ number }) => number));
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

/** Returns the version of the checkpoint whose branches are joined at a checkpoint, or in its node execution. */
export function mergedAt(
  { checkpoints }: Pick<LogProjection, "checkpoints">,
  point: Pick<CheckpointPoint, "version" | "record">,
): number | undefined {
  return point.record.joined ?? checkpoints.get(visitAt(point)[0])?.record.joined;
}

/** Returns the branches that are joined in the node execution of a checkpoint, by key in start order. */
export function joinedBranches(
  index: LogProjection,
  point: CheckpointPoint,
): ReadonlyMap<string, BranchChanges> | undefined {
  const parallelStart = mergedAt(index, point);
  return parallelStart === undefined ? undefined : branchesOf(index, parallelStart);
}

export function branchesOf(index: LogProjection, parallelStart: number): ReadonlyMap<string, BranchChanges> {
  const results = new Map<string, BranchChanges>();
  for (const line of index.lines.branchesOf(parallelStart))
    if ("branch" in line.place) results.set(line.place.branch, new BranchChanges(index, line));
  return results;
}
