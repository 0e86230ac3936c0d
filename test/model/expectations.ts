import assert from "node:assert/strict";
import type { World } from "../persistence/support/World.ts";
import { lineTo, type Journaled, type Stored } from "./readStored.ts";
import { agentId } from "./Steps.ts";

/** @param status `undefined` when it may be any. */
export function expectListed({ checkpoints, journal }: Stored, status: string | undefined): void {
  if (journal === undefined || (checkpoints.length === 0 && status === undefined)) return;
  const [summary, ...others] = journal.summaries;
  assert.deepEqual([summary?.agentId, others], [agentId, []], "the agent is listed once");
  if (status !== undefined) assert.equal(summary?.status, status);
}

/** What stands in the world is what the log says; either may be true of what nobody knows the end of. */
export function expectWorld(
  { checkpoints, latest, journal }: Stored,
  { effects }: World,
  stayedReverted: ReadonlySet<string>,
  atRest: boolean,
): void {
  // What the agent remembers to have done stands.
  const remembered = lineTo(latest, checkpoints).flatMap(({ toolCalls }) => toolCalls);
  const mustStand = atRest && (journal !== undefined || latest?.status === "completed");
  for (const { toolCallId } of mustStand ? remembered : [])
    assert.ok(
      effects.has(toolCallId) || stayedReverted.has(toolCallId),
      `call ${toolCallId} is remembered and has left nothing`,
    );
  if (journal === undefined) return;
  const { ended, reverted, unknown, inverting } = journal;
  if (atRest) assert.deepEqual([...inverting], [], "inverses that have no end");
  for (const id of effects.keys())
    assert.ok(unknown.has(id) || (ended.has(id) && !reverted.has(id)), `call ${id} stands and should not`);
  for (const id of ended)
    assert.ok(unknown.has(id) || reverted.has(id) || effects.has(id), `call ${id} should stand and does not`);
}

/** What was recorded to its end before a process is not done again by it. */
export function expectNotRepeated(before: Journaled, executed: readonly string[], undone: readonly string[]): void {
  assert.deepEqual(
    executed.filter((id) => before.ended.has(id)),
    [],
    "calls that had ended ran again",
  );
  assert.deepEqual(
    undone.filter((id) => before.reverted.has(id)),
    [],
    "inverses that had ended ran again",
  );
}
