import { originOf } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/** Which version of its strategy each place of a log was recorded by. */
export class CodeVersions {
  readonly #index: LogProjection;
  /** By lane, where another version begins. */
  readonly #changes = new Map<number, { readonly order: number; readonly version: number }[]>();

  constructor(index: LogProjection) {
    this.#index = index;
    for (const [lane, records] of index.laneRecords)
      for (const { record, order } of records) {
        if (record.kind !== "structure") continue;
        const change = { order, version: record.version ?? 0 };
        this.#changes.set(lane, [...(this.#changes.get(lane) ?? []), change]);
      }
  }

  /** The version at a place; 0 where none is recorded. */
  at(lane: number, order: number): number {
    const { base, lanes, checkpoints } = this.#index;
    // A lane begins from one with a lower number, unless the log is forged.
    for (let at = { lane, order }, before = Infinity; at.lane < before;) {
      const change = this.#changes.get(at.lane)?.findLast((each) => each.order <= at.order);
      if (change) return change.version;
      if (base?.state.lane === at.lane) return base.state.structure?.version ?? 0;
      const begun = lanes.get(at.lane)?.record;
      const origin = begun && checkpoints.get(originOf(begun) ?? -1);
      if (!origin) return 0;
      before = at.lane;
      at = { lane: origin.record.lane, order: origin.order };
    }
    return 0;
  }
}
