import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "failedRequest/askAgainWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** What a process of its own printed, and what ended it. */
function inOwnProcess(directory: string, how: string): Promise<{ readonly signal?: string; readonly said: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program, directory, how], (ended, stdout) =>
      resolve({ ...(ended?.signal && { signal: ended.signal }), said: stdout }),
    ),
  );
}

describe("model requests that failed", () => {
  it.each([
    { how: "retry", what: "the same model", asked: ["first", "first"], room: "first" },
    { how: "fallback", what: "another model", asked: ["first", "second"], room: "second" },
  ])(
    "and were repeated on $what are not made again after a kill in the tool, whose call keeps its id",
    async ({ how, asked, room }) => {
      const directory = await temporaryDirectory();
      expect(await inOwnProcess(directory, how)).toEqual({ signal: "SIGKILL", said: "" });
      const { said } = await inOwnProcess(directory, how);
      const end = JSON.parse(said) as { readonly status?: string; readonly booked: readonly string[] };
      expect(end).toMatchObject({ status: "completed", output: "done", asked });
      expect(end.booked).toHaveLength(2);
      expect(new Set(end.booked).size).toBe(1);
      expect(end.booked[0]).toMatch(new RegExp(` ${room}$`));
      await rm(directory, { recursive: true });
    },
  );
});
