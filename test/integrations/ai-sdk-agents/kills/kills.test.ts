import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/ai-sdk-agents/kills/deskWorker.ts");
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

describe("a durable agent of the AI SDK under SIGKILL", () => {
  // One run, killed in turn between an answer and its effect, and after the effects of a parallel and of a later call.
  it("makes each call once, under one id, however often it is killed", async () => {
    const directory = await temporaryDirectory();
    const moments = ["before 1", "after 2", "after 3"];
    for (const _moment of moments)
      expect(await inOwnProcess([directory, "generate", ...moments])).toEqual({ signal: "SIGKILL", said: "" });
    const { said } = await inOwnProcess([directory, "generate", ...moments]);
    const end = JSON.parse(said) as { readonly said: string; readonly refunded: readonly string[] };
    expect(end.said).toBe("All are refunded.");
    expect(end.refunded.map((line) => line.split(" ")[0])).toEqual(["1", "2", "3"]);
    expect(new Set(end.refunded).size).toBe(3);
    await rm(directory, { recursive: true });
  });
});
