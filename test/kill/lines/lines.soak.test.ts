import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { type End, killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { cases, soak } from "../../soak/cases.ts";

const killCount = cases(2, 80);
/** At most so many in one life. */
const killsOfLife = 10;
/** Lives at once. */
const lanes = 2;

type Answers = "at once" | "later";

let calm: Left;
let calls: number;

const program = killableProgram("lines/linesWorker.ts");

beforeAll(async () => {
  const directory = await newLife();
  const end = await start(directory);
  ({ calls } = end);
  if (!(calls > 0)) throw new Error(`The undisturbed run failed: ${String(end.said)}`);
  calm = await leftBy(directory, end);
  await rm(directory, { recursive: true });
});

interface Fate {
  readonly answers?: Answers;
  /** Killed right after the first line of what it does that begins so. */
  readonly dieAfter?: string;
  /** Killed right before its call to the file system of that number. */
  readonly killBefore?: number;
}

async function newLife(): Promise<string> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, "deeds"), "");
  return directory;
}

/** A process of its own, until it ends. */
function start(directory: string, { answers = "at once", dieAfter, killBefore = 0 }: Fate = {}): Promise<End> {
  return program(directory, killBefore, answers, ...(dieAfter === undefined ? [] : [dieAfter]));
}

interface Left {
  /** What the last process said. */
  readonly said: unknown;
  /** What was done, each call once, without its id. */
  readonly effects: readonly string[];
  readonly problems: readonly string[];
}

async function leftBy(directory: string, { said }: End): Promise<Left> {
  const deeds = (await readFile(join(directory, "deeds"), "utf8")).trim().split("\n");
  const effects = new Set(deeds.filter((line) => line.startsWith("did ") || line.startsWith("undid ")));
  return {
    said,
    effects: [...effects].map((line) => line.split(" ").slice(0, -1).join(" ")).sort(),
    problems: deeds.filter((line) => line.startsWith("problem")),
  };
}

/** The life is as one that nobody disturbed. What is shown when it fails is kept. */
async function expectCalm(shown: { readonly directory: string; readonly seed?: number }, end: End): Promise<void> {
  expect({ ...shown, ...(await leftBy(shown.directory, end)) }).toEqual({ ...shown, ...calm });
  await rm(shown.directory, { recursive: true });
}

type DeathPlace = readonly [where: string, dieAfter: string, answers: Answers];
const places: readonly DeathPlace[] = [
  ["in one of three branches", "did two begun", "later"],
  ["between an approval and its effect two agents deep", "begins paper", "at once"],
  ["in a rollback inside a branch", "undid two ended", "at once"],
];
const morePlaces: readonly DeathPlace[] = [
  ["in the merge", "did merge begun", "at once"],
  ["two agents deep", "did look begun", "later"],
  ["between an answer and the next step of the branch", "taken", "at once"],
  ["between an approval and the effect of the approved call", "begins order", "later"],
];

describe.concurrent("a run with several lines", () => {
  it("does everything once and makes each request once if it is undisturbed", () => {
    expect(calm).toMatchObject({
      said: {
        asked: ["Pay order?", "Pay paper?", "Pay paper?", "Which size?"],
        answeredOnce: true,
        broken: [],
      },
      problems: [],
    });
    expect(calm.effects.filter((line) => line.startsWith("undid"))).toEqual([
      "undid three begun",
      "undid two begun",
      "undid two ended",
    ]);
    expect(calm.effects.filter((line) => line.startsWith("did two"))).toHaveLength(4);
    expect(calm.effects.filter((line) => line.startsWith("did merge"))).toHaveLength(2);
    expect(calm.effects.filter((line) => line === "did paper")).toHaveLength(2);
  });

  const tried = soak ? [...places, ...morePlaces] : places;
  it.each(tried)("reaches the same end after a kill %s", async (_where, dieAfter, answers) => {
    const directory = await newLife();
    expect(await start(directory, { answers, dieAfter })).toMatchObject({ killed: true });
    await expectCalm({ directory }, await start(directory, { answers }));
  });

  it(`reaches the same end after ${killCount} kills at random calls to the file system`, async () => {
    let left = killCount;
    const lane = async (number: number) => {
      const random = seededNumbers(seed + number);
      while (left > 0) {
        const directory = await newLife();
        for (let kills = 0; kills < killsOfLife && left > 0; kills++) {
          left--;
          const answers = random() < 0.5 ? "at once" : "later";
          const killBefore = 1 + Math.floor((random() * calls) / 2);
          if ((await start(directory, { answers, killBefore })).killed) continue;
          left++;
          break;
        }
        await expectCalm({ directory, seed }, await start(directory));
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
    expect(left).toBe(0);
  });
});
