import { isAncestor } from "../checkpoint/lineage.ts";
import type { CheckpointPoint, LogIndex } from "../checkpoint/LogIndex.ts";
import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import type { Visit } from "../checkpoint/records/Visit.ts";

/** The checkpoints with a given id that a run has made on the line it is on. */
export class NamedCheckpoints {
  readonly #ids: Set<string>;
  /** Those that are in the log, until the node that made them has asked for them again. */
  readonly #recorded: Map<string, CheckpointRecord>;

  /** @param recorded by id. */
  constructor(recorded: ReadonlyMap<string, CheckpointRecord> = new Map()) {
    this.#ids = new Set(recorded.keys());
    this.#recorded = new Map(recorded);
  }

  /** Those on the way to a checkpoint, of its run. */
  static upTo(index: LogIndex, head: CheckpointPoint): NamedCheckpoints {
    const points = [...index.named.values()].flatMap(([version]) => index.checkpoints.get(version) ?? []);
    const own = points.filter((point) => point.runId === head.runId && isAncestor(index, point, head));
    return new NamedCheckpoints(new Map(own.map(({ id, record }) => [id, record])));
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
  }

  /** Whether a visit has made a checkpoint of this id before it was cut short; true once. */
  takeAgain(id: string, node: string, visit: Visit): boolean {
    const record = this.#recorded.get(id);
    const [base, ordinal] = record?.visit ?? [];
    if (!record || record.node !== node || base !== visit[0] || ordinal !== visit[1]) return false;
    return this.#recorded.delete(id);
  }
}
