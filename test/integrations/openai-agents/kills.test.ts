import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";

const soak = process.env["SOAK"] !== undefined;
const rooms = ["a", "b", "c", "d", "e"];
const everyPlace = rooms.flatMap((room) => [`before ${room}`, `after ${room}`]);

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/openai-agents/killedWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** What a process printed; `undefined`: it was killed. */
function inOwnProcess(parameters: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve, reject) =>
    execFile(process.execPath, [program, ...parameters], (ended, stdout, stderr) => {
      if (ended?.signal === "SIGKILL") resolve(undefined);
      else if (ended) reject(new Error(stderr));
      else resolve(stdout);
    }),
  );
}

/** Runs processes until one is not killed. */
async function runUnderKills(
  how: string,
  places: readonly string[],
): Promise<{ readonly said: unknown; readonly kills: number }> {
  const directory = await temporaryDirectory();
  for (let kills = 0; ; kills++) {
    const said = await inOwnProcess([directory, how, ...places]);
    if (said === undefined) continue;
    await rm(directory, { recursive: true });
    return { said: JSON.parse(said), kills };
  }
}

const cases = soak
  ? [
      { how: "whole", places: everyPlace },
      { how: "stream", places: everyPlace },
    ]
  : [{ how: "stream", places: ["after a", "before c", "after e"] }];

describe("a run of an agent of OpenAI Agents whose process is killed", () => {
  it.each(cases)("makes each call once when it was killed $places ($how)", async ({ how, places }) => {
    const { said, kills } = await runUnderKills(how, places);
    expect(kills).toBe(places.length);
    const { booked, asked, items, finalOutput } = said as Record<"booked" | "asked", string[]> & {
      readonly items: number;
      readonly finalOutput: string;
    };
    expect(booked).toHaveLength(rooms.length);
    expect(new Set(booked.map((line) => line.split(" ")[0]))).toEqual(new Set(rooms));
    expect(new Set(booked.map((line) => line.split(" ")[1])).size).toBe(rooms.length);
    expect(asked).toEqual([
      "first 0",
      "first 2",
      "first 3",
      "second 4",
      "second 5",
      "helper 0",
      "helper 1",
      "second 6",
    ]);
    expect(finalOutput.split(", ")).toHaveLength(6);
    // The input, three answers with calls, their results, the handoff and its result, two more calls and results, the end.
    expect(items).toBe(1 + 2 + 2 + 2 + 2 + 2 + 2 + 1);
  });
});
