import type { CheckpointPoint } from "../records/lineRecords.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/**
 * Returns the checkpoint with this id or name, or `undefined` if the index does not contain it. If two checkpoints were
 * given the same id, this id finds the later checkpoint. The earlier checkpoint has a generated id.
 */
export function findPoint(index: LogProjection, id: string): CheckpointPoint | undefined {
  const known = index.byId(id);
  if (known) return known;
  const point = index.checkpoints.get(Number(id.slice(id.indexOf("-") + 1)));
  return point && id === `${point.generation}-${point.version}` ? point : undefined;
}
