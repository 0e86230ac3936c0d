import type { Entry } from "agent-persistence/storage";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { checkpointData } from "../../../src/checkpoint/data/checkpointData.ts";
import type { RestatedEntry } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { LaneRecord } from "../../../src/checkpoint/records/lineRecords.ts";
import { placesUpTo } from "../../../src/checkpoint/lines/lineage.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { rewriteKept } from "../../../src/checkpoint/pruning/rewriteKept.ts";
import { Pace } from "../../../src/internal/nextTurn.ts";
import { loggedCalls } from "../../../src/journal/loggedCalls.ts";
import { planRollback } from "../../../src/journal/planRollback.ts";
import { live } from "../../persistence/support/liveThrough.ts";
import { randomRun } from "../../persistence/support/randomRuns.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { cases } from "../../soak/cases.ts";

const memory = logStorages[0] as (typeof logStorages)[number];
const runs = cases(18, 2_000);

function indexOf(entries: readonly Pick<Entry, "position" | "generation" | "checksum" | "records">[]): LogProjection {
  const index = new LogProjection();
  for (const entry of entries) index.add({ id: "", prev: "", ...entry });
  return index;
}

/** What a rollback to a checkpoint does, by ids in order. */
function rollbackTo(index: LogProjection, version: number, hasInverse: (tool: string) => boolean) {
  const target = index.checkpoints.get(version);
  if (!target) throw new Error(`There is no checkpoint ${version}.`);
  const { revert, irreversible, inDoubt, skipped } = planRollback(
    index,
    loggedCalls(index, new Map()),
    { target },
    ({ tool }) => hasInverse(tool),
  );
  return [revert, irreversible, inDoubt, skipped].map((calls) =>
    calls.map((call) => [call.call, call.tool, call.input(), call.output()]),
  );
}

/** What a checkpoint says, without what depends on which others there are. */
function readAt(index: LogProjection, version: number): unknown {
  const point = index.checkpoints.get(version);
  if (!point) throw new Error(`There is no checkpoint ${version}.`);
  const {
    parentId: _parent,
    toolCalls: _calls,
    runInput: _input,
    ...rest
  } = checkpointData(new AgentLog("a", index, new Map()), point);
  return rest;
}

const facts = (index: LogProjection) => ({
  version: index.nextVersion,
  lane: index.nextLane,
  latest: index.latest?.id,
  runs: [...index.runs],
  named: [...index.named],
  unfinished: index.unfinished,
  status: index.statusState.current?.status,
  closed: [...index.closed],
  reverted: [...index.reverted],
  notes: index.notes.length,
});

describe("any log that is rewritten for some of its checkpoints", () => {
  it("reads back each of them unchanged, with the same calls to revert", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, fc.array(fc.boolean(), { minLength: 8, maxLength: 40 }), async (run, dice) => {
        const opened = await memory.open();
        await live(run, opened);
        const entries: Entry[] = [];
        for await (const entry of opened().log.read("a")) entries.push(entry);
        const before = indexOf(entries);
        const hasInverse = (tool: string) => tool === "book";
        // A run that follows another can do without the end of that.
        const isNeeded = ({ from = -1, keep }: LaneRecord) =>
          keep === "all" || !before.checkpoints.get(from)?.record.status;
        const lanes = [...before.lanes.values()].map(({ record }) => record);
        const beginnings = new Set(lanes.filter(isNeeded).map(({ from }) => from));
        const rewrite = (log: readonly Entry[], index: LogProjection) =>
          rewriteKept(log, index, kept, hasInverse, new Pace());
        const kept = new Set(
          [...before.checkpoints.values()]
            .filter((point, at) => point === before.latest || beginnings.has(point.version) || dice[at % dice.length])
            .map(({ version }) => version),
        );
        const restated = await rewrite(entries, before);
        const after = indexOf(restated);
        expect([...after.checkpoints.keys()]).toEqual(
          [...before.checkpoints.keys()].filter((version) => kept.has(version)),
        );
        expect(facts(after)).toEqual(facts(before));
        for (const version of kept) {
          expect(readAt(after, version)).toEqual(readAt(before, version));
          expect(rollbackTo(after, version, hasInverse)).toEqual(rollbackTo(before, version, hasInverse));
          expect(after.checkpoints.get(version)?.parent).toBe(nearestKept(before, version, kept));
        }
        // Restating what was restated changes nothing.
        expect(await rewrite(entriesOf(restated), after)).toEqual(restated);
      }),
      { numRuns: runs },
    );
  });
});

function entriesOf(restated: readonly RestatedEntry[]): Entry[] {
  return restated.map((entry) => ({ id: "", prev: "", ...entry }));
}

function nearestKept(index: LogProjection, version: number, kept: ReadonlySet<number>): number | undefined {
  const point = index.checkpoints.get(version);
  const isAbove = point && placesUpTo(index, point);
  const above = [...index.checkpoints.values()].filter(
    (other) => other !== point && kept.has(other.version) && isAbove?.(other.record.lane, other.order),
  );
  return above.sort((a, b) => b.version - a.version)[0]?.version;
}
