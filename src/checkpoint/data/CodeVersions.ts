import { originOf } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/** The strategy version that recorded each part of a log. */
export class CodeVersions {
  readonly #index: LogProjection;
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

  at(lane: number, order: number): number {
    const { base, lanes, checkpoints } = this.#index;
    // A lane starts from a lower lane. The condition prevents endless loops in a forged log.
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
