import type { CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/**
 * Returns the checkpoint with this id or name, or `undefined` if the index does not contain it. If two checkpoints were
 * given the same id, the id finds the later one. The earlier one is found by its generated id.
 */
export function findPoint(index: LogProjection, id: string): CheckpointPoint | undefined {
  const known = index.byId(id);
  if (known) return known;
  const point = index.checkpoints.get(Number(id.slice(id.indexOf("-") + 1)));
  return point && id === `${point.generation}-${point.version}` ? point : undefined;
}
