import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { judge } from "./judge.ts";
import { Ledger } from "./Ledger.ts";
import { type AgentEnd, type Life, nodeKinds, verbNames } from "./Program.ts";
import { cases } from "../../soak/cases.ts";

const kills = Number(process.env["ATTACK_KILLS"] ?? cases(2, 25));
/** Even a busy machine needs less for so many kills. */
const mostMs = 900_000 + kills * 10_000;
const mostLives = 6;
const mostCalls = 5;
/** The calls to the storage of a life, about: a later kill leaves the life whole. */
const callsOfLife = { file: 160, sqlite: 50 };

const start = killableProgram("verbs/verbsWorker.ts");

it.each(["file", "sqlite"] as const)(
  "random programs with every method, killed anywhere, end in a storage in %s without repeated or lost effects",
  async (storage) => {
    const random = seededNumbers(seed);
    const pick = (most: number) => Math.floor(random() * most);
    const oneOf = <Item>(items: readonly Item[]) => items[pick(items.length)] as Item;
    let killed = 0;
    for (let program = 0; killed < kills; program++) {
      const directory = await temporaryDirectory();
      const nodes = Array.from({ length: 1 + pick(4) }, () => oneOf(nodeKinds));
      const lives: Life["calls"][] = Array.from({ length: 1 + pick(mostLives) }, (_, at) => [
        ...(at === 0 ? [{ verb: "run" as const, agent: 0, at: 0 }] : []),
        ...Array.from({ length: 1 + pick(mostCalls) }, () => ({
          verb: oneOf(verbNames),
          agent: pick(9),
          at: pick(99),
        })),
      ]);
      const failures: unknown[] = [];
      for (const calls of lives) {
        const life: Life = { directory, storage, nodes, ...(calls && { calls }) };
        const end = await start(JSON.stringify(life), 1 + pick(callsOfLife[storage]));
        if (end.killed) killed++;
        else if (!Array.isArray(end.said)) failures.push(end.said);
      }
      const { said } = await start(JSON.stringify({ directory, storage, nodes } satisfies Life), 0);
      const ends = Array.isArray(said) ? (said as readonly AgentEnd[]) : [];
      const wrong = Array.isArray(said) ? judge(new Ledger(directory).deeds(), ends) : [said];
      // All that it takes to see it again is shown when this fails, and the directory is kept.
      const told = { seed, program, directory, nodes, lives: JSON.stringify(lives) };
      expect({ ...told, failures, wrong }).toEqual({ ...told, failures: [], wrong: [] });
      await rm(directory, { recursive: true });
    }
    console.log(`Killed ${killed} times on ${storage}.`);
    expect(killed).toBeGreaterThanOrEqual(kills);
  },
  mostMs,
);
