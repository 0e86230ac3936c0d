import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/langgraph/kills/agentWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

function inOwnProcess(...given: readonly string[]): Promise<unknown> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program, ...given], (ended, stdout, stderr) =>
      resolve(ended ? (ended.signal ?? stderr) : JSON.parse(stdout)),
    ),
  );
}

describe("createAgent with humanInTheLoopMiddleware under SIGKILL", () => {
  it("approves, edits and rejects calls after restarts and makes each payment once", async () => {
    const directory = await temporaryDirectory();
    const said = ["Pay a, b and c.", ""];
    expect(await inOwnProcess(directory)).toEqual({ asked: ["a", "b", "c"], said });
    said.push("too much", "");
    expect(await inOwnProcess(directory)).toEqual({ asked: ["a", "b"], said });
    // Only this process is told the decisions.
    expect(await inOwnProcess(directory, "a", "after")).toBe("SIGKILL");
    expect(await inOwnProcess(directory, "b", "before")).toBe("SIGKILL");
    expect(await inOwnProcess(directory)).toEqual({ said: [...said, "paid 20", "paid 5", ""] });
    const lines = async (name: string) => (await readFile(join(directory, name), "utf8")).trim().split("\n");
    const payments = (await lines("payments")).map((line) => line.split(" "));
    expect(payments.map(([order, euros]) => `${order} ${euros}`).toSorted()).toEqual(["a 20", "b 5"]);
    expect(new Set(payments.map(([, , key]) => key)).size).toBe(2);
    expect(await lines("requests")).toEqual(["asked", "asked", "asked"]);
    await rm(directory, { recursive: true });
  });
});
