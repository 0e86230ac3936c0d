import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { WhenBusy } from "agent-persistence";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FilePersistenceStorageProvider } from "../../../src/file.ts";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner } from "../../../src/openai-agents.ts";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { soonerClock } from "../../internal/soonerClock.ts";
import { Gate } from "../ai-sdk-agents/support/gate.ts";
import { busyDesk } from "./processes/busyDesk.ts";

const config = { tracingDisabled: true };
type Storage = InMemoryPersistenceStorageProvider | FilePersistenceStorageProvider;

/** A run of the message "one" whose model waits at the gate. */
async function begin(storage: Storage) {
  const gate = new Gate();
  const { desk, model } = busyDesk(gate);
  const runner = new DurableRunner({ storage, config });
  const first = runner.run(desk, "one", { agentId: "a", runId: "one" });
  first.catch(() => undefined);
  await gate.reached;
  return { gate, desk, model, runner, first };
}

describe("a second message to a DurableRunner in one process", () => {
  const start = () => begin(new InMemoryPersistenceStorageProvider());
  const options = (whenBusy: WhenBusy) => ({ agentId: "a", whenBusy });

  it("is refused with reject", async () => {
    const { gate, desk, runner, first } = await start();
    await expect(runner.run(desk, "two", options("reject"))).rejects.toMatchObject({ code: "agent_busy" });
    gate.open();
    expect((await first).finalOutput).toBe("on one");
  });

  it("waits for its turn with queue", async () => {
    const { gate, desk, model, runner, first } = await start();
    const second = runner.run(desk, "two", options("queue"));
    gate.open();
    expect((await second).finalOutput).toBe("on two");
    expect((await first).finalOutput).toBe("on one");
    expect(model.asked).toEqual(["one", "two"]);
  });

  it("gets the result of the run in progress with join", async () => {
    const { gate, desk, model, runner, first } = await start();
    const joined = runner.run(desk, "two", options("join"));
    gate.open();
    expect([(await joined).finalOutput, (await first).finalOutput]).toEqual(["on one", "on one"]);
    expect(model.asked).toEqual(["one"]);
  });

  it("gets a stream of the run in progress with join", async () => {
    const { gate, desk, model, runner } = await start();
    const joined = runner.run(desk, "two", { ...options("join"), stream: true });
    gate.open();
    const stream = await joined;
    let text = "";
    for await (const piece of stream.toTextStream()) text += piece;
    await stream.completed;
    expect([text, stream.finalOutput]).toEqual(["on one", "on one"]);
    expect(model.asked).toEqual(["one"]);
  });

  it("replaces the run in progress with replace", async () => {
    const { desk, model, runner, first } = await start();
    expect((await runner.run(desk, "two", options("replace"))).finalOutput).toBe("on two");
    await expect(first).rejects.toMatchObject({ code: "stop_requested" });
    expect(model.asked).toEqual(["one", "two"]);
  });
});

describe("a second message to a DurableRunner in another process", () => {
  let home: string;
  let program: string;
  beforeAll(async () => {
    home = await temporaryDirectory();
    program = await bundleWorker(home, "../integrations/openai-agents/processes/busyWorker.ts");
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  /** Starts the other process, and calls `onBusy` when that finds the agent busy. Resolves with what it prints. */
  const sent = async (directory: string, whenBusy: WhenBusy, onBusy: () => void) => {
    const child = spawn(process.execPath, [program, directory, whenBusy], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "close");
    const lines: unknown[] = [];
    for await (const line of createInterface({ input: child.stdout })) if (lines.push(JSON.parse(line)) === 1) onBusy();
    await ended;
    return lines;
  };
  const start = async () => {
    const directory = await temporaryDirectory();
    onTestFinished(() => rm(directory, { recursive: true }));
    return { directory, ...(await begin(new FilePersistenceStorageProvider({ directory, clock: soonerClock }))) };
  };

  it.each([
    ["reject", { code: "agent_busy" }],
    ["queue", { finalOutput: "on two" }],
    ["join", { finalOutput: "on one" }],
  ] as const)("gets its result with %s", async (whenBusy, result) => {
    const { directory, gate, model, first } = await start();
    expect(await sent(directory, whenBusy, () => gate.open())).toEqual([{ busy: true }, result]);
    expect((await first).finalOutput).toBe("on one");
    expect(model.asked).toEqual(["one"]);
  });

  it("replaces the run in progress with replace", async () => {
    const { directory, first } = await start();
    expect(await sent(directory, "replace", () => undefined)).toEqual([{ busy: true }, { finalOutput: "on two" }]);
    await expect(first).rejects.toMatchObject({ code: "stop_requested" });
  });
});
