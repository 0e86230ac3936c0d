import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { enginesOfProcesses } from "../storage/engines/enginesOfProcesses.ts";
import { bundleWorker } from "./bundleWorker.ts";
import { readEndState } from "./judge/readEndState.ts";
import { temporaryDirectory } from "./temporaryDirectory.ts";
import { Trace } from "./judge/Trace.ts";
import { undisturbedRun } from "./undisturbedRun.ts";
import { killRunningWorkers, WorkerProcess } from "./WorkerProcess.ts";

const toolCallIds = "repeating";

let home: string;
let program: string;
let state: unknown;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home);
  ({ state } = await undisturbedRun(program, toolCallIds));
});
afterEach(killRunningWorkers);
afterAll(() => rm(home, { recursive: true, force: true }));

describe("two processes on one agent", () => {
  it.each(enginesOfProcesses)(
    "are admitted one at a time, and the second at once if the first was killed, $name",
    async (engine) => {
      const place = await engine.place();
      const directory = await temporaryDirectory();
      const first = new WorkerProcess(program, {
        directory,
        toolCallIds,
        place,
        haltAt: { tool: "charge", place: "after" },
      });
      await first.hear("halted");
      const second = new WorkerProcess(program, { directory, toolCallIds, place });
      const owner = { processId: first.processId };
      expect(await second.hear("failed")).toMatchObject({ code: "agent_busy", owner });
      expect(await second.ended()).toEqual({ killed: false, exitCode: 1 });
      first.kill();
      await first.ended();
      const third = new WorkerProcess(program, { directory, toolCallIds, place });
      expect(await third.hear("completed")).toMatchObject({ output: "5 rounds" });
      expect(await third.ended()).toEqual({ killed: false, exitCode: 0 });
      expect(await readEndState(directory, toolCallIds, place)).toEqual(state);
      await rm(directory, { recursive: true });
    },
  );

  it("are admitted one at a time if several start at the same moment after a kill", async () => {
    const directory = await temporaryDirectory();
    const first = new WorkerProcess(program, { directory, toolCallIds, haltAt: { place: "model", number: 3 } });
    await first.hear("halted");
    first.kill();
    await first.ended();
    const others = [1, 2].map(() => new WorkerProcess(program, { directory, toolCallIds }));
    for (const other of others) {
      const [failed, completed] = [await other.hear("failed"), await other.hear("completed")];
      // Who comes after the other has finished gets what that one made.
      expect(failed?.code ?? completed?.output).toBe(failed ? "agent_busy" : "5 rounds");
    }
    expect((await Promise.all(others.map((other) => other.ended()))).map(({ exitCode }) => exitCode)).toContain(0);
    expect(await readEndState(directory, toolCallIds)).toEqual(state);
    await rm(directory, { recursive: true });
  });

  it("exclude a process that slept through its lease inside a tool", async () => {
    const directory = await temporaryDirectory();
    const common = { directory, toolCallIds, leaseMs: 900 } as const;
    const sleeper = new WorkerProcess(program, { ...common, haltAt: { tool: "charge", place: "before", number: 3 } });
    const halted = await sleeper.hear("halted");
    sleeper.suspend();
    const next = new WorkerProcess(program, { ...common, patient: true });
    expect(await next.hear("completed")).toMatchObject({ output: "5 rounds" });
    await next.ended();
    const before = new Trace(directory).read().length;
    sleeper.continue();
    expect(await sleeper.hear("failed")).toMatchObject({ code: "ownership_lost" });
    expect(await sleeper.ended()).toEqual({ killed: false, exitCode: 1 });
    // It ends the call it was in, whose key is known by now, and begins no other.
    const after = new Trace(directory).read().slice(before);
    expect(after.filter(({ kind }) => kind === "started" || kind === "node")).toEqual([]);
    expect(after).toContainEqual({ kind: "finished", call: halted?.call });
    expect(await readEndState(directory, toolCallIds)).toEqual(state);
    await rm(directory, { recursive: true });
  });
});
