import type { CheckpointPoint, LogIndex } from "../../checkpoint/fold/LogIndex.ts";

/** The first checkpoint of the last run, on the way to the head or to where a rollback goes that was cut short. */
export function firstOfRun(index: LogIndex): CheckpointPoint | undefined {
  let first: CheckpointPoint | undefined;
  let at = index.rollback ? index.checkpoints.get(index.rollback.target) : index.latest;
  while (at && at.runId === index.run?.run) {
    first = at;
    at = parentOf(at, index);
  }
  return first;
}

function parentOf({ parent }: CheckpointPoint, index: LogIndex): CheckpointPoint | undefined {
  return parent === undefined ? undefined : index.checkpoints.get(parent);
}
