import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { RunResult } from "agent-persistence";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { cases } from "../../soak/cases.ts";

/** Processes that act on one request at once. */
const processes = cases(4, 10);

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "waiting/askingWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** What a process of its own says before it is killed. */
async function inOwnProcess(directory: string, ...args: readonly string[]): Promise<unknown> {
  const said = await new Promise<string>((resolve) =>
    execFile(process.execPath, [program, directory, ...args], (_killed, stdout) => resolve(stdout)),
  );
  return JSON.parse(said);
}

describe("a waiting run", () => {
  it("requests input in one process, is answered in a second and resumed in a third, each killed right after", async () => {
    const directory = await temporaryDirectory();
    const waiting = (await inOwnProcess(directory, "run")) as RunResult<string>;
    const [request] = waiting.status === "waiting" ? waiting.requests : [];
    const id = request?.requestId ?? "";
    expect(await inOwnProcess(directory, "resume")).toEqual(waiting);
    expect(await inOwnProcess(directory, "answer", id, "XL")).toEqual({ code: "invalid_input" });
    expect(await inOwnProcess(directory, "answer", id, "M")).toEqual({ taken: true });
    expect(await inOwnProcess(directory, "answer", id, "S")).toEqual({ code: "request_answered" });
    expect(await inOwnProcess(directory, "resume")).toMatchObject({ status: "completed", output: "M" });
    expect(await readFile(join(directory, "charged"), "utf8")).toBe("deposit\nM\n");
    await rm(directory, { recursive: true });
  });

  it(`accepts one of ${processes} simultaneous answers from ${processes} processes`, async () => {
    const directory = await temporaryDirectory();
    const waiting = (await inOwnProcess(directory, "run")) as RunResult<string>;
    const [request] = waiting.status === "waiting" ? waiting.requests : [];
    const given = Array.from({ length: processes }, (_, at) => (at % 2 === 0 ? "S" : "M"));
    const said = await Promise.all(
      given.map((answer) => inOwnProcess(directory, "answer", request?.requestId ?? "", answer)),
    );
    const taken = said.flatMap((each, at) => ("taken" in (each as object) ? [given[at]] : []));
    expect(taken).toHaveLength(1);
    const refused = said.flatMap((each) => (each as { readonly code?: string }).code ?? []);
    expect(new Set(["request_answered", "agent_busy", ...refused]).size).toBe(2);
    expect(await inOwnProcess(directory, "resume")).toMatchObject({ output: taken[0] });
    await rm(directory, { recursive: true });
  });

  it.each([false, true])(
    `makes a call once that several processes approve at once, or at most once if another cancels (%s)`,
    async (cancels) => {
      const directory = await temporaryDirectory();
      const waiting = (await inOwnProcess(directory, "run", "refund")) as RunResult<string>;
      const [request] = waiting.status === "waiting" ? waiting.requests : [];
      const ids = Array.from({ length: processes }, () => request?.requestId ?? "");
      const approvals = Promise.all(ids.map((id) => inOwnProcess(directory, "approve", id)));
      const canceled = cancels ? await inOwnProcess(directory, "cancel") : undefined;
      const taken = (await approvals).filter((each) => "taken" in (each as object));
      expect(taken.length).toBeLessThanOrEqual(1);
      const isCanceled = canceled !== undefined && "canceled" in (canceled as object);
      expect(taken.length + Number(isCanceled)).toBeGreaterThanOrEqual(1);
      const resumed = await Promise.all([1, 2].map(() => inOwnProcess(directory, "resume")));
      expect(resumed.some((each) => (each as { readonly status?: string }).status === "completed")).toBe(!isCanceled);
      const charged = await readFile(join(directory, "charged"), "utf8").catch(() => "");
      expect(charged).toBe(isCanceled ? "" : "refund\n");
      await rm(directory, { recursive: true });
    },
  );
});
