import fc from "fast-check";
import { describe, it } from "vitest";
import { readPaced } from "../../../../src/storage/readEntries.ts";
import { checkLines } from "../support/checkLines.ts";
import { crashing, liveLines, undisturbed } from "../support/liveLines.ts";
import { losingPower } from "../support/losingPower.ts";
import { type LineBody, type LineStep, linesOf, type RandomLines } from "../support/randomLines.ts";
import { logStorages, memory } from "../../support/storages.ts";
import { cases, every } from "../../../soak/cases.ts";

const counts = { memory: cases(4, 30), file: cases(1, 5) };

describe.each(logStorages)("$name: random lines", (storage) => {
  it.each([1, 2])(
    "of branches and called agents %i deep end undisturbed despite crashes, rollbacks and answers anywhere",
    async (depth) => {
      const numRuns = Math.ceil(counts[storage.name as keyof typeof counts] / depth ** 2);
      await fc.assert(
        fc.asyncProperty(linesOf(depth), async (lines) => {
          await checkLines(lines, async () => {
            const opened = await storage.open();
            return { opened, world: await liveLines(lines, crashing(opened)) };
          });
        }),
        // A run that hangs is a counterexample, too.
        { numRuns, timeout: 600_000 },
      );
    },
  );
});

it("runs with branches and called agents end undisturbed despite power losses, on files", async () => {
  await fc.assert(
    fc.asyncProperty(linesOf(1), fc.integer(), async (lines, seed) => {
      await checkLines(lines, async () => {
        const device = losingPower(seed);
        return { world: await liveLines(lines, device), opened: device.opened };
      });
    }),
    { numRuns: cases(2, 10), timeout: 600_000 },
  );
});

it("a rollback to a start of called agents reverts all of them and starts them again", async () => {
  const asks: LineBody = [{ kind: "leaf", acts: [{ kind: "consult", agents: [0, 0] }] }];
  const body: LineBody = [
    { kind: "leaf", acts: [{ kind: "consult", agents: [0, 0, 0] }] },
    { kind: "leaf", acts: [{ kind: "back", to: 10 }] },
  ];
  const lines: RandomLines = {
    body: [{ kind: "subgraph", body }],
    agents: [asks, [{ kind: "leaf", acts: [{ kind: "approve" }] }]],
    automatic: true,
    agentsAutomatic: false,
    triggers: true,
    moods: [false],
    settledBy: "handler",
    moves: 1,
    processes: [],
    answers: ["later"],
  };
  await checkLines(lines, async () => {
    const opened = await memory.open();
    return { opened, world: await liveLines(lines, crashing(opened)) };
  });
});

it("a rollback to a failure of called agents reverts all of them, whichever failed the run", async () => {
  const lines: RandomLines = {
    body: [{ kind: "leaf", acts: [{ kind: "book" }, { kind: "book" }, { kind: "consult", agents: [0, 0] }] }],
    agents: [[{ kind: "leaf", acts: [{ kind: "pair" }, { kind: "fail" }] }]],
    automatic: true,
    agentsAutomatic: false,
    triggers: true,
    moods: [false],
    settledBy: "handler",
    moves: 0,
    processes: [
      { saves: 1, backTo: 0 },
      { saves: 5, backTo: 20 },
    ],
    answers: [0],
  };
  await checkLines(lines, async () => {
    const opened = await memory.open();
    return { opened, world: await liveLines(lines, crashing(opened)) };
  });
});

/** The least of what can go wrong on several lines: none of it is left to chance. */
const leaf: LineStep = { kind: "leaf", acts: [{ kind: "book" }, { kind: "count" }, { kind: "say" }] };
const consults: LineStep = { kind: "leaf", acts: [{ kind: "consult", agents: [0, 0] }] };
const join = { history: "fork", onFailure: "finish", messages: "append", merge: [{ kind: "ship" }] } as const;
const both = (...branches: readonly LineStep[][]): LineStep => ({ kind: "parallel", branches, ...join });
interface Plan extends Partial<Pick<RandomLines, "automatic" | "triggers">> {
  readonly plan: string;
  readonly body: LineBody;
}
const plans: readonly Plan[] = [
  { plan: "branches of one and of two nodes", body: [leaf, both([leaf], [leaf, leaf])] },
  { plan: "branches in a branch", body: [both([leaf, both([leaf], [leaf])], [leaf]), leaf] },
  { plan: "a list", body: [{ kind: "each", items: 2, concurrency: 1, body: [leaf], ...join }, leaf] },
  { plan: "called agents", body: [leaf, consults, leaf] },
  { plan: "called agents and no automatic checkpoints", body: [consults, leaf], automatic: false },
  {
    plan: "a trigger that is due in every other process",
    body: [both([leaf, leaf], [consults]), leaf, leaf],
    triggers: true,
  },
];
/** A process ends after each of so many saves. */
const stride = every(8, 1);
const lives = plans.flatMap((plan, at) =>
  [
    { ...plan, next: "goes on", backTo: [undefined] },
    { ...plan, next: "goes back and on", backTo: [0] },
    { ...plan, next: "goes back twice and on", backTo: [1, 0] },
  ].map((life, row) => ({ ...life, first: (3 * at + row) % stride })),
);

it.each(lives)(
  "a run with $plan that ends after any save $next",
  async ({ body, automatic = true, triggers = false, backTo, first }) => {
    const lines: RandomLines = {
      body,
      agents: [[leaf, leaf]],
      automatic,
      agentsAutomatic: automatic,
      triggers,
      moods: [true, false],
      settledBy: "handler",
      moves: 0,
      processes: [],
      answers: ["later"],
    };
    const whole = await memory.open();
    await undisturbed(lines, whole);
    const { length: mostSaves } = await readPaced(whole().log, "a");
    for (let saves = first; saves < mostSaves; saves += stride) {
      const ending = { ...lines, processes: backTo.map((to) => ({ saves, backTo: to })) };
      await checkLines(ending, async () => {
        const opened = await memory.open();
        return { opened, world: await liveLines(ending, crashing(opened)) };
      });
    }
  },
);
