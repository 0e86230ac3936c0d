import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../../../src/errors/agentErrors.ts";
import { planRetention } from "../../../src/persistence/retention/planPruning.ts";
import {
  defaultRetention,
  fullRetention,
  type RetentionPolicy,
} from "../../../src/persistence/config/RetentionPolicy.ts";

const day = 24 * 60 * 60 * 1000;
const versions = (count: number) => Array.from({ length: count }, (_, at) => ({ version: at + 1, exempt: false }));

describe("retention plans", () => {
  it.each([
    ["completed", 6.9, "keep"],
    ["completed", 7, "drop"],
    ["cancelled", 6.9, "keep"],
    ["cancelled", 7, "drop"],
    ["failed", 29.9, "keep"],
    ["failed", 30, "drop"],
    ["in_progress", 10_000, "keep"],
    ["queued", 10_000, "keep"],
    ["paused", 10_000, "keep"],
    ["waiting", 10_000, "keep"],
    ["completed", -10, "keep"],
  ])("the retention plan for an agent that is %s for %d days is: %s", (status, days, kind) => {
    const agent = { status, lastTime: 1_000 * day, checkpoints: versions(5) };
    expect(planRetention(agent, defaultRetention, (1_000 + days) * day)).toEqual({ kind });
  });

  it("keep a queued agent unchanged, with any number of checkpoints", () => {
    const queued = { status: "queued", lastTime: 0, checkpoints: versions(500) };
    expect(planRetention(queued, defaultRetention, 0)).toEqual({ kind: "keep" });
  });

  it.each(["paused", "waiting"])("thin an agent that is %s to a separate limit", (status) => {
    const held = { status, lastTime: 0, checkpoints: versions(21) };
    const keptBy = (policy: RetentionPolicy) => planRetention(held, fullRetention(policy), 10_000 * day);
    const thinned = { kind: "prune", kept: new Set([1, 5, 10, 15, 20, 21]) };
    expect(keptBy({})).toEqual(thinned);
    expect(keptBy({ maxCheckpoints: 30 })).toEqual({ kind: "keep" });
    expect(keptBy({ maxCheckpoints: 30, maxCheckpointsPaused: 20 })).toEqual(thinned);
    expect(keptBy({ maxCheckpointsPaused: Infinity })).toEqual({ kind: "keep" });
  });

  it.each<[number, readonly number[] | undefined]>([
    [20, undefined],
    [21, [1, 5, 10, 15, 20, 21]],
    [93, [1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 93]],
    [96, [1, 25, 50, 75, 96]],
    [500, [1, 125, 250, 375, 500]],
  ])("for %d checkpoints keep %j", (count, expected) => {
    const plan = planRetention(
      { status: "in_progress", lastTime: 0, checkpoints: versions(count) },
      defaultRetention,
      0,
    );
    expect(plan).toEqual(expected ? { kind: "prune", kept: new Set(expected) } : { kind: "keep" });
  });

  it("keep the first, the last and all exempt checkpoints, and remove no more the second time", () => {
    const checkpoints = fc
      .uniqueArray(fc.record({ version: fc.integer({ min: 1, max: 2_000 }), exempt: fc.boolean() }), {
        selector: ({ version }) => version,
        maxLength: 300,
      })
      .map((list) => list.sort((a, b) => a.version - b.version));
    fc.assert(
      fc.property(checkpoints, fc.integer({ min: 2, max: 40 }), (list, maxCheckpoints) => {
        const policy = { ...defaultRetention, maxCheckpoints, maxCheckpointsPaused: 2 };
        const plan = planRetention({ status: "completed", lastTime: 0, checkpoints: list }, policy, 0);
        const counted = list.filter(({ exempt }) => !exempt).map(({ version }) => version);
        if (plan.kind !== "prune") {
          expect(counted.length).toBeLessThanOrEqual(maxCheckpoints);
          return;
        }
        const left = counted.filter((version) => plan.kept.has(version));
        expect(left.length).toBeLessThanOrEqual(maxCheckpoints);
        expect([left[0], left.at(-1)]).toEqual([counted[0], counted.at(-1)]);
        expect(list.filter(({ version, exempt }) => exempt && !plan.kept.has(version))).toEqual([]);
        const after = list.filter(({ version }) => plan.kept.has(version));
        expect(planRetention({ status: "completed", lastTime: 0, checkpoints: after }, policy, 0)).toEqual({
          kind: "keep",
        });
      }),
    );
  });

  it.each([{ maxCheckpoints: 1 }, { maxCheckpointsPaused: 1 }, { completedDays: -1 }, { failedDays: Number.NaN }])(
    "refuse %j",
    (policy) => {
      expect(() => fullRetention(policy)).toThrow(InvalidInputError);
    },
  );
});
