import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { NextStep } from "../../agent/strategy/NextStep.ts";
import type { SinceCheckpoint } from "../triggers/CheckpointTrigger.ts";
import type { RunRecorder } from "./RunRecorder.ts";

export function sinceCheckpoint(
  recorder: RunRecorder,
  { state }: AgentRun,
  next: Pick<NextStep, "nodeId" | "input"> | undefined,
): SinceCheckpoint {
  const { setup, saved } = recorder;
  const moved = next ? !recorder.isForeseen(next) : saved.left;
  const isStored = !moved || next === undefined || state.history.numberOf(next.input) !== undefined;
  const changed =
    moved ||
    recorder.grownBytes > 0 ||
    (next !== undefined && recorder.newBytes(state) > 0) ||
    state.progress !== saved.progress ||
    state.progressSummary !== saved.progressSummary;
  return {
    elapsedMs: setup.clock.monotonic() - saved.at,
    changed,
    // A getter, because only some triggers need this expensive size.
    get grownBytes() {
      const unsaved = next === undefined ? 0 : recorder.newBytes(state);
      return recorder.grownBytes + unsaved + (isStored ? 0 : roughBytes(next.input));
    },
  };
}

function roughBytes(value: unknown): number {
  const open: unknown[] = [value];
  let sum = 0;
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === "string") sum += part.length + 2;
    else if (typeof part !== "object" || part === null) sum += 6;
    else if (ArrayBuffer.isView(part)) sum += Math.ceil((part.byteLength * 4) / 3);
    else for (const item of partsOf(part)) open.push(item);
  }
  return sum;
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (value instanceof Map || value instanceof Set) return [...value.entries()].flat();
  return Object.entries(value).flat();
}
