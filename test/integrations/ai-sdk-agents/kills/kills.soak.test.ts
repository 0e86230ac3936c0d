import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { wholeSoak } from "../../../soak/cases.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/ai-sdk-agents/kills/deskWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

interface Ended {
  readonly signal?: string;
  readonly said: string;
  readonly complaints?: string;
}

/** What a process of its own printed, and what ended it. */
function inOwnProcess(given: readonly string[]): Promise<Ended> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program, ...given], (ended, said, complaints) =>
      resolve({ ...(ended?.signal && { signal: ended.signal }), ...(complaints !== "" && { complaints }), said }),
    ),
  );
}

/** In the order in which a run comes to them: in answers, between an answer and its effect, around each effect. */
const moments = [
  "in answer 0",
  "asked for 1",
  "before 1",
  "after 1",
  "before 2",
  "after 2",
  "in answer 1",
  "asked for 3",
  "before 3",
  "after 3",
  "in answer 2",
];

const answers = ["0", "1 fails", "1", "2"];

/**
 * The least and the most requests for an answer. A kill in an answer makes one more. So does a kill at the question for
 * approval, unless the answer was recorded meanwhile: a call begins after it, the question may come before.
 */
function requestsFor(answer: string, kills: readonly string[]): readonly [least: number, most: number] {
  const question = { "0": "asked for 1", "1": "asked for 3" }[answer] ?? "";
  const least = kills.includes(`in answer ${answer}`) ? 2 : 1;
  return [least, kills.includes(question) ? least + 1 : least];
}

/** A whole soak has all moments in each case. */
const cases = wholeSoak
  ? ["6", "7"].flatMap((version) => ["stream", "generate"].map((how) => ({ version, how, kills: moments })))
  : [
      { version: "6", how: "stream", kills: ["in answer 0", "before 1", "asked for 3", "after 3"] },
      { version: "7", how: "stream", kills: ["asked for 1", "after 2", "in answer 1", "before 3"] },
    ];

describe("a durable agent of the AI SDK under SIGKILL", () => {
  it.concurrent.each(cases)(
    "makes each call once, under one id, and repeats no recorded request: $how with version $version",
    async ({ version, how, kills }) => {
      const directory = await temporaryDirectory();
      const given = [directory, version, how, ...kills];
      for (const _moment of kills) expect(await inOwnProcess(given)).toEqual({ signal: "SIGKILL", said: "" });
      const { said } = await inOwnProcess(given);
      const end = JSON.parse(said) as { said: string; refunded: readonly string[]; asked: readonly string[] };
      expect(end.said).toBe("All are refunded.");
      expect(end.refunded.map((line) => line.split(" ")[0])).toEqual(["1", "2", "3"]);
      expect(new Set(end.refunded).size).toBe(3);
      const counts = answers.map((answer) => end.asked.filter((asked) => asked === answer).length);
      expect(end.asked).toEqual(answers.flatMap((answer, at) => Array.from({ length: counts[at] ?? 0 }, () => answer)));
      for (const [at, answer] of answers.entries()) {
        const [least, most] = requestsFor(answer, kills);
        expect(counts[at]).toBeGreaterThanOrEqual(least);
        expect(counts[at]).toBeLessThanOrEqual(most);
      }
      await rm(directory, { recursive: true });
    },
  );
});
