import { placesUpTo } from "../../checkpoint/lines/lineage.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { CreateCheckpointOptions } from "./CreateCheckpointOptions.ts";

/** The checkpoints on the current line that have an id or a version from the caller. */
export class NamedCheckpoints {
  readonly #ids: Set<string>;
  readonly #recorded: CheckpointPoint[];

  constructor(recorded: readonly CheckpointPoint[] = []) {
    this.#ids = new Set(recorded.map(({ id }) => id));
    this.#recorded = [...recorded];
  }

  static upTo(index: LogProjection, head: CheckpointPoint): NamedCheckpoints {
    const isOnWay = placesUpTo(index, head);
    const counts = (lane: number): boolean => {
      const { place, closed } = index.lines.nestedLine(lane) ?? {};
      if (!place || place.parent >= lane) return true;
      // A rollback has abandoned the call, unless it ended before the target.
      const hasEnded = closed !== undefined && isOnWay(place.parent, closed);
      return ("fork" in place || hasEnded || !index.closed.has(place.call)) && counts(place.parent);
    };
    return new NamedCheckpoints(
      index.askedFor.filter(
        ({ runId, record: { lane }, order }) => runId === head.runId && isOnWay(lane, order) && counts(lane),
      ),
    );
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
  }

  /**
   * Returns the id of the checkpoint that an interrupted visit made with this id or version. Returns each checkpoint
   * once.
   */
  takeAgain(
    { checkpointId, version = 0 }: Pick<CreateCheckpointOptions<never>, "checkpointId" | "version">,
    node: string,
    [base, ordinal]: Visit,
  ): string | undefined {
    const at = this.#recorded.findIndex(({ id, record }) => {
      const named = checkpointId === undefined ? record.version === version : id === checkpointId;
      return named && record.node === node && record.visit?.[0] === base && record.visit[1] === ordinal;
    });
    return at < 0 ? undefined : this.#recorded.splice(at, 1)[0]?.id;
  }
}
