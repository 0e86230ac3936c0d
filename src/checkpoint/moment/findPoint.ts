import type { CheckpointPoint } from "../state/CheckpointPoint.ts";
import type { LogProjection } from "../state/LogProjection.ts";

/**
 * The checkpoint with this id or name; `undefined` when the entries that were read do not contain it. One that was given an id
 * is also found under the one that it has once a later checkpoint takes the given id.
 */
export function findPoint(index: LogProjection, id: string): CheckpointPoint | undefined {
  const known = index.byId(id);
  if (known) return known;
  const point = index.checkpoints.get(Number(id.slice(id.indexOf("-") + 1)));
  return point && id === `${point.generation}-${point.version}` ? point : undefined;
}
