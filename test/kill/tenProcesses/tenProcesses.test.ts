import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bytesOf, finish, payer, timesImported, waitingPayer } from "../../transfer/movedAgents.ts";
import { migrationsIn, stoppedAgent } from "../migration/stoppedAgent.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { Contender } from "./Contender.ts";
import { cases } from "../../soak/cases.ts";

const [rounds, takeOvers] = [cases(1, 40), cases(1, 4)];
/** Until all have been told, and wait for the same moment. */
const headStartMs = 15;

let home: string;
let program: string;
let ten: readonly Contender[];

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "tenProcesses/contendWorker.ts");
  ten = Array.from({ length: 10 }, () => new Contender(program));
  for (const one of ten) await one.hear();
});
afterAll(async () => {
  await Promise.all(ten.map((one) => one.kill()));
  await rm(home, { recursive: true, force: true });
});

describe("ten processes that act on one agent at once", () => {
  it(`start it in one process, ${rounds} times over, and the others get an error that names the owner`, async () => {
    for (let round = 0; round < rounds; round++) {
      const directory = await temporaryDirectory();
      const winner = await contend(directory);
      const effects = await effectsIn(directory);
      expect(effects.map(({ by }) => by)).toEqual([winner, winner, winner]);
      expect(new Set(effects.map(({ call }) => call)).size).toBe(3);
      await expectWhole(directory);
      await rm(directory, { recursive: true });
    }
  });

  it(`take it over in one process, ${takeOvers} times over, after a kill inside a call`, async () => {
    for (let round = 0; round < takeOvers; round++) {
      const directory = await temporaryDirectory();
      const killed = new Contender(program);
      expect(await killed.hear()).toEqual({ said: "ready" });
      killed.tell({ begin: "contend", start: { directory, atMs: 0 } });
      expect(await killed.hear()).toEqual({ said: "inside" });
      await killed.kill();
      const winner = await contend(directory);
      const effects = await effectsIn(directory);
      const calls = (by: number | undefined) => effects.filter((effect) => effect.by === by).map(({ call }) => call);
      expect(effects.map(({ by }) => by).filter((by) => by !== killed.processId && by !== winner)).toEqual([]);
      expect(new Set(calls(winner)).size).toBe(calls(winner).length);
      expect(new Set(effects.map(({ call }) => call)).size).toBe(3);
      await expectWhole(directory);
      await rm(directory, { recursive: true });
    }
  });

  it(`fork it to one id in one process, ${rounds} times over, and the fork is complete`, async () => {
    for (let round = 0; round < rounds; round++) {
      const directory = await temporaryDirectory();
      await waitingPayer(storageIn(directory), "contended");
      const atMs = Date.now() + headStartMs;
      for (const one of ten) one.tell({ begin: "fork", start: { directory, atMs } });
      const said = await Promise.all(ten.map((one) => one.hear()));
      expect(said.filter((each) => each.said === "done")).toHaveLength(1);
      for (const each of said)
        if (each.said !== "done")
          expect(["agent_exists", "agent_busy"]).toContain(each.said === "refused" ? each.code : each);
      expect(await finish(payer(storageIn(directory)), "fork")).toMatchObject({ output: "ann, 800" });
      await rm(directory, { recursive: true });
    }
  });

  it(`import it from one archive in one process, ${rounds} times over, and the agent is complete`, async () => {
    const source = storageIn(await temporaryDirectory());
    await waitingPayer(source);
    const archive = await bytesOf(exportAgent(source, "order-7", { move: true }));
    for (let round = 0; round < rounds; round++) {
      const directory = await temporaryDirectory();
      await writeFile(join(directory, "archive"), archive);
      const atMs = Date.now() + headStartMs;
      for (const one of ten) one.tell({ begin: "import", start: { directory, atMs } });
      const said = await Promise.all(ten.map((one) => one.hear()));
      // Who comes after the import gets the receipt again.
      expect(said.filter((each) => each.said === "done").length).toBeGreaterThan(0);
      expect(await timesImported(storageIn(directory), "order-7")).toBe(1);
      for (const each of said)
        if (each.said !== "done")
          expect(["agent_busy", "ownership_lost"]).toContain(each.said === "refused" ? each.code : each);
      expect(await finish(payer(storageIn(directory)))).toMatchObject({ output: "ann, 800" });
      await rm(directory, { recursive: true });
    }
  });

  it(`finish or cancel its move, ${rounds} times over, and the agent has the state of the winner`, async () => {
    const [finisher, canceller] = ten;
    for (let round = 0; round < rounds; round++) {
      const directory = await temporaryDirectory();
      const source = storageIn(directory);
      await waitingPayer(source);
      const target = storageIn(await temporaryDirectory());
      const { receipt } = await importAgent(target, exportAgent(source, "order-7", { move: true }));
      await writeFile(join(directory, "receipt"), JSON.stringify(receipt));
      const start = { directory, atMs: Date.now() + headStartMs };
      finisher?.tell({ begin: "finishMove", start });
      canceller?.tell({ begin: "cancelMove", start });
      const said = [await finisher?.hear(), await canceller?.hear()];
      const [finished, calledOff] = said.map((each) => each?.said === "done");
      expect({ said, one: finished !== calledOff }).toEqual({ said, one: true });
      const refused = said.find((each) => each?.said !== "done");
      const codes = ["agent_busy", "ownership_lost", finished ? "agent_moved" : "invalid_input"];
      expect(codes).toContain(refused?.said === "refused" ? refused.code : refused);
      const [listed] = await collect(storageIn(directory).log.list());
      expect(listed?.status).toBe(finished ? "moved" : "waiting");
      await rm(directory, { recursive: true });
    }
  });

  it(`migrate it in one process, ${rounds} times over, and the others are refused or get the result`, async () => {
    for (let round = 0; round < rounds; round++) {
      const directory = await temporaryDirectory();
      await stoppedAgent(directory);
      const atMs = Date.now() + headStartMs;
      for (const one of ten) one.tell({ begin: "migrate", start: { directory, atMs } });
      const said = await Promise.all(ten.map((one) => one.hear()));
      const completed = { said: "completed", output: "iinit" };
      expect(said).toContainEqual(completed);
      for (const each of said) if (each.said !== "busy") expect(each).toEqual(completed);
      expect(await migrationsIn(directory)).toEqual([["both", "finish", "work/second"]]);
      await rm(directory, { recursive: true });
    }
  });
});

/** All start at once; who gets in goes on when the others have been refused. @returns its process id. */
async function contend(directory: string): Promise<number | undefined> {
  const atMs = Date.now() + headStartMs;
  for (const one of ten) one.tell({ begin: "contend", start: { directory, atMs } });
  const said = await Promise.all(ten.map((one) => one.hear()));
  const winner = ten.find((_, at) => said[at]?.said === "inside");
  const refused = { said: "busy", holder: winner?.processId, retryAfterMs: expect.any(Number) as number };
  expect(said).toEqual(ten.map((one) => (one === winner ? { said: "inside" } : refused)));
  winner?.tell("go on");
  expect(await winner?.hear()).toEqual({ said: "completed", output: "marked" });
  return winner?.processId;
}

async function effectsIn(directory: string): Promise<readonly { readonly call: string; readonly by: number }[]> {
  const lines = (await readFile(join(directory, "effects"), "utf8")).trimEnd().split("\n");
  return lines.map((line) => line.split(" ")).map(([call = "", by]) => ({ call, by: Number(by) }));
}

const storageIn = (directory: string) =>
  new FilePersistenceStorageProvider({ directory: join(directory, "agent"), inlineThresholdBytes: 300 });

/** What is stored is the run of one process. */
async function expectWhole(directory: string): Promise<void> {
  const storage = storageIn(directory);
  const checkpoints = await storage.getCheckpoints("contended");
  const nodes = ["callModel", "callTools", "callModel", "callTools", "callModel", "finish"];
  expect(checkpoints.map(({ version, nodeId }) => [version, nodeId])).toEqual(nodes.map((node, at) => [at + 1, node]));
  expect(await storage.log.owner("contended")).toBeUndefined();
}
