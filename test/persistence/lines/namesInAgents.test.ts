import { expect, it } from "vitest";
import { memory } from "../support/storages.ts";
import { crashing, liveLines } from "./support/liveLines.ts";
import type { LineAct, LineBody } from "./support/randomLines.ts";

const leaf = (...acts: readonly LineAct[]): LineBody => [{ kind: "leaf", acts }];
const consult = (...agents: readonly number[]): LineAct => ({ kind: "consult", agents });

it("called agents name their checkpoints again after rollbacks to moments when they ran, and after crashes", async () => {
  const opened = await memory.open();
  const world = await liveLines(
    {
      body: leaf(consult(1, 0)),
      agents: [
        [...leaf(), ...leaf(consult(0, 0, 2))],
        leaf({ kind: "name" }, consult(1, 1, 1), { kind: "book" }, { kind: "name" }),
      ],
      automatic: true,
      agentsAutomatic: false,
      triggers: true,
      moods: [false],
      settledBy: "handler",
      moves: 0,
      processes: [{ saves: 6 }, { saves: 25, backTo: 9 }, { saves: 2, backTo: 20 }, { saves: 2, backTo: 5 }],
      answers: [2, "resume", "resume", 0, "later"],
    },
    crashing(opened),
  );
  expect(world.problems).toEqual([]);
});
