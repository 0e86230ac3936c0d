import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { persistence, strategy, type AgentContext, type PersistenceEvent } from "agent-persistence";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { recoverTask } from "agent-persistence/task";
import { FilePersistenceStorageProvider, FileRecordLog, type ProcessIdentity } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { testDirectory, TestMachine } from "../../storage/file/support/fixture.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { nodesOf } from "../support/stored.ts";
import { every } from "../../soak/cases.ts";

const steps = (fault: Pick<Fault, "strike"> | { strike(): Promise<void> }) =>
  strategy<string, string>("s", (graph) => {
    const first = graph.node("first", (input: string, context: AgentContext) => {
      context.llm.append({ role: "user", content: input });
      return input;
    });
    const second = graph.node("second", (input: string) => input);
    const third = graph.node("third", async (input: string) => {
      await fault.strike();
      return input;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, third);
    graph.edge(third, graph.finish);
  });

/** The segment that holds a text. */
async function segmentHolding(directory: string, text: string): Promise<string> {
  for (const item of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(item.parentPath, item.name);
    if (item.name.endsWith(".jsonl") && (await readFile(path, "utf8")).includes(text)) return path;
  }
  throw new Error(`No segment holds ${text}.`);
}

async function damage(path: string, text: string): Promise<void> {
  const bytes = await readFile(path);
  const at = bytes.indexOf(text);
  bytes[at + 1] = (bytes[at + 1] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

describe("interrupted appends", () => {
  /** What a killed process leaves: the folder as it was in the middle of the third node. */
  async function killed() {
    const machine = new TestMachine();
    const storage = (directory: string, processIdentity: ProcessIdentity) =>
      new LogPersistenceStorageProvider(new FileRecordLog({ directory, processIdentity }));
    const [running, directory] = [await testDirectory(), await testDirectory()];
    const first = machine.start();
    const strike = () => cp(running, directory, { recursive: true });
    await durableAgent(steps({ strike }), storage(running, first)).run("in", { runId: "r" });
    machine.end(first);
    const path = await segmentHolding(directory, '"node":"third"');
    const done = new Fault();
    done.repair();
    const agent = (onEvent?: (event: PersistenceEvent) => void) =>
      durableAgent(steps(done), storage(directory, machine.start()), { ...(onEvent && { onEvent }) });
    return { directory, path, text: await readFile(path, "utf8"), agent };
  }

  it("are skipped and reported after a crash", async () => {
    const { path, text, agent: start } = await killed();
    await writeFile(path, text.slice(0, text.indexOf('"node":"third"')));
    const told: PersistenceEvent[] = [];
    const agent = start((event) => void told.push(event));
    const tornTail = { file: path, line: 5, bytes: expect.any(Number) as number };
    expect(await persistence(agent).agent().validateCheckpoint()).toMatchObject({
      valid: true,
      tornTail,
      integrity: { logComplete: { ok: true, notChecked: expect.stringContaining(path) as string } },
    });
    const report = await recoverTask(agent);
    expect(report).toMatchObject({ result: { status: "completed", output: "in", tornTail } });
    expect(report.steps[0]?.checks["logComplete"]).toMatchObject({
      notChecked: expect.stringContaining(path) as string,
    });
    const torn = told.filter(({ type }) => type === "log_torn_tail");
    expect(torn).toMatchObject([
      { agentId: "a", tornTail: { file: path, line: 5, bytes: expect.any(Number) as number } },
    ]);
    expect(await nodesOf(agent)).toEqual(["first", "second", "third", "finish"]);
    expect(await persistence(agent).agent().validateCheckpoint()).toMatchObject({
      valid: true,
      integrity: { logComplete: { ok: true } },
    });
  });

  it("count as damage if they were acknowledged, instead of falling back to an older checkpoint", async () => {
    const { path, agent: start } = await killed();
    await damage(path, '"node":"third"');
    const agent = start();
    expect(await persistence(agent).agent().validateCheckpoint()).toMatchObject({
      valid: false,
      integrity: { checksumMatch: { ok: false } },
    });
    await expect(agent.resume()).rejects.toMatchObject({ code: "corrupt_log", lastCheckpointId: "1-2" });
    await expect(recoverTask(agent)).rejects.toMatchObject({ code: "corrupt_log" });
  });

  it("never make a finished run run again because its log was cut", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    let began = 0;
    const run = async () => {
      const processIdentity = machine.start();
      const storage = new LogPersistenceStorageProvider(new FileRecordLog({ directory, processIdentity }));
      const agent = durableAgent(steps({ strike: async () => void began++ }), storage);
      await agent.run("in", { runId: "r" }).finally(() => machine.end(processIdentity));
    };
    await run();
    const path = await segmentHolding(directory, '"node":"third"');
    const whole = await readFile(path);
    for (let length = 0; length < whole.length; length += every(68, 17)) {
      await writeFile(path, whole.subarray(0, length));
      await run().catch((error: unknown) => expect(error).toMatchObject({ code: "corrupt_log" }));
      expect([length, began]).toEqual([length, 1]);
      for (const name of await readdir(dirname(path)))
        if (join(dirname(path), name) !== path) await rm(join(dirname(path), name));
      await rm(join(dirname(dirname(path)), "owners"), { recursive: true, force: true });
    }
  });
});

describe("damaged logs", () => {
  it("make each method fail with the file, the line and the last checkpoint before", async () => {
    const directory = await testDirectory();
    const agent = durableAgent(steps(new Fault()), new FilePersistenceStorageProvider({ directory }));
    await expect(agent.run("in")).rejects.toBeInstanceOf(Stopped);
    const path = await segmentHolding(directory, '"node":"third"');
    await damage(path, '"node":"third"');
    const refused = { code: "corrupt_log", agentId: "a", lastPosition: 2, lastCheckpointId: "1-2" };
    const outside = persistence(agent).agent();
    for (const read of [() => outside.getCheckpoints(), () => outside.getLatestCheckpoint()])
      await expect(read()).rejects.toMatchObject({ ...refused, file: path });
    for (const verb of [() => agent.resume(), () => agent.run("in"), () => outside.rollbackToLatestCheckpoint()])
      await expect(verb()).rejects.toMatchObject(refused);
    await expect(agent.resume()).rejects.toThrow(/line \d+: .*last checkpoint before it is 1-2/);
  });

  it("can be copied explicitly to continue from the last checkpoint before the damage", async () => {
    const directory = await testDirectory();
    const copy = await testDirectory();
    const fault = new Fault();
    const agent = durableAgent(steps(fault), new FilePersistenceStorageProvider({ directory }));
    await expect(agent.run("in")).rejects.toBeInstanceOf(Stopped);
    await damage(await segmentHolding(directory, '"node":"third"'), '"node":"third"');
    const report = await new FileRecordLog({ directory }).salvage("a", new FileRecordLog({ directory: copy }));
    expect(report).toMatchObject({ appends: 2, lastCheckpointId: "1-2", unreachable: [4] });
    fault.repair();
    const again = durableAgent(steps(fault), new FilePersistenceStorageProvider({ directory: copy }));
    expect(await persistence(again).agent().getLatestCheckpoint()).toMatchObject({ checkpointId: "1-2" });
    expect(await again.resume()).toMatchObject({ status: "completed", output: "in" });
    expect(await nodesOf(again)).toEqual(["first", "second", "third", "finish"]);
    await expect(agent.resume()).rejects.toMatchObject({ code: "corrupt_log" });
  });

  it("do not hide other unfinished agents, and are listed themselves", async () => {
    const directory = await testDirectory();
    const agent = durableAgent(steps(new Fault()), new FilePersistenceStorageProvider({ directory }));
    for (const agentId of ["one", "two", "three"]) {
      await expect(agent.run(agentId, { agentId })).rejects.toBeInstanceOf(Stopped);
      await persistence(agent).agent(agentId).rollbackToLatestCheckpoint();
    }
    const path = await segmentHolding(directory, '"content":"two"');
    await damage(path, '"claim"');
    for (const item of await readdir(directory, { recursive: true, withFileTypes: true }))
      if (item.name === "state.json") await writeFile(join(item.parentPath, item.name), "{}");
    const checked = [];
    for await (const { agentId, verdict } of persistence(agent).checkMigrations()) checked.push([agentId, verdict]);
    expect(checked).toEqual([
      [expect.any(String), "unreadable"],
      ["one", "same"],
      ["three", "same"],
    ]);
    const found = [];
    for await (const run of persistence(agent).unfinished()) found.push(run);
    expect(found).toMatchObject([
      { agentId: "one", status: "paused" },
      { agentId: "three", status: "paused" },
      { status: "unreadable", code: "corrupt_log", reason: expect.stringContaining(dirname(dirname(path))) as string },
    ]);
  });
});
