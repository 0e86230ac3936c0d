import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { portion } from "../../../soak/cases.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/langgraph/kills/deskWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** What a process of its own printed, and what ended it. */
function inOwnProcess(given: readonly string[]): Promise<{ readonly signal?: string; readonly said: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program, ...given], (ended, stdout) =>
      resolve({ ...(ended?.signal && { signal: ended.signal }), said: stdout }),
    ),
  );
}

interface Life {
  /** What was printed in the end. */
  readonly end: { readonly told: readonly string[]; readonly said: readonly string[] };
  /** The charges that were made, each with its key. */
  readonly charged: readonly string[];
  /** Which process asked for which charge. */
  readonly asked: readonly string[];
  readonly noted: readonly string[];
}

/** A graph that is killed at these moments, one in each process, until one comes to its end. */
async function livedThrough(how: string, moments: readonly string[]): Promise<Life> {
  const directory = await temporaryDirectory();
  for (const moment of moments)
    expect({ moment, ...(await inOwnProcess([directory, how, ...moments])) }).toEqual({
      moment,
      signal: "SIGKILL",
      said: "",
    });
  const { said } = await inOwnProcess([directory, how, ...moments]);
  const lines = async (name: string) => (await readFile(join(directory, name), "utf8")).trim().split("\n");
  const life = {
    end: JSON.parse(said) as Life["end"],
    charged: await lines("charged"),
    asked: await lines("asked"),
    noted: await lines("noted"),
  };
  await rm(directory, { recursive: true });
  return life;
}

const all = ["1", "2", "3", "4", "5", "6", "7", "8"];

const moments = [
  ...all.flatMap((id) => [`before ${id}`, `after ${id}`]),
  "in sequential",
  "late 5",
  "late 6",
  "in agent",
];

/** With a bank that knows keys, with a probe that asks one that does not, and with checkpoints that are stored beside the run. */
const cases = portion(
  [
    { how: "probe", moments: ["after 2", "before 3"] },
    { how: "async", moments: ["after 3"] },
  ],
  ["keys", "probe", "async"].flatMap((how) => moments.map((moment) => ({ how, moments: [moment] }))),
);

function expectOnceEach({ end, charged, noted }: Life): void {
  expect(charged.map((line) => line.split(" ")[0] ?? "").toSorted()).toEqual(all);
  expect(new Set(charged.map((line) => line.split(" ")[1])).size).toBe(8);
  expect(noted.toSorted()).toEqual(["5", "6"]);
  const results = [...end.told, ...end.said].flatMap((each) => each.split(","));
  expect(results.length).toBe(8);
  for (const [at, result] of results.entries()) expect([`charged ${at + 1}`, "found"]).toContain(result);
}

describe("a graph with durable tools under SIGKILL", () => {
  it("has each effect once after kills in a call, a step, a branch or a graph of a tool", async () => {
    const moments = ["after 1", "in sequential", "after 4", "late 5", "before 8", "after 8"];
    const life = await livedThrough("keys", moments);
    expectOnceEach(life);
    const [inProcess = [], ...later] = moments
      .concat("")
      .map((_, process) => life.asked.flatMap((line) => (line.startsWith(`${process} `) ? [line.slice(2)] : [])));
    expect(inProcess).toContain("1");
    // The call that was cut off, and the other one unless it had ended.
    expect(["1", "1,2", "2,1"]).toContain(later[0]?.join());
    expect(later[1]).toEqual(["3", "4"]);
    // Neither the step before nor what had ended in this one.
    expect(later[2]?.toSorted()).toEqual(["4", "5", "6"]);
    // The branch that had ended is not run again, nor the call of the one that had not.
    expect(later[3]).toEqual(["7"]);
    expect(later.slice(4)).toEqual([["8"], ["8"]]);
  });

  it.each(cases)("continues as if it was not killed ($how, $moments)", async ({ how, moments }) => {
    expectOnceEach(await livedThrough(how, moments));
  });
});
