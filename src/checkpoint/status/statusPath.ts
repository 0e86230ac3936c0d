import { STATE_TRANSITIONS } from "./STATE_TRANSITIONS.ts";
import type { TaskStatus } from "./TaskStatus.ts";

/** The statuses to pass through on the shortest way from one to another, the last included; `undefined` when there is no way. */
export function statusPath(from: TaskStatus, to: TaskStatus): readonly TaskStatus[] | undefined {
  const seen = new Set<TaskStatus>([from]);
  let ways: readonly (readonly TaskStatus[])[] = [[]];
  while (ways.length > 0) {
    const longer: (readonly TaskStatus[])[] = [];
    for (const way of ways) {
      const at = way.at(-1) ?? from;
      if (at === to) return way;
      for (const next of STATE_TRANSITIONS[at].filter((status) => !seen.has(status))) {
        seen.add(next);
        longer.push([...way, next]);
      }
    }
    ways = longer;
  }
  return undefined;
}
