import { exportAgent, importAgent } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { expect, it } from "vitest";
import { testDirectory, TestMachine } from "../storage/file/support/fixture.ts";
import { bytesOf, finish, inPieces, payer, storages, timesImported, waitingPayer } from "./movedAgents.ts";

it("one of ten concurrent imports of an agent succeeds, and the agent is complete", async () => {
  const source = await storages["memory"]!();
  await waitingPayer(source);
  const archive = await bytesOf(exportAgent(source, "order-7", { move: true }));
  const [directory, machine] = [await testDirectory(), new TestMachine()];
  const open = () =>
    new FilePersistenceStorageProvider({ directory, inlineThresholdBytes: 300, processIdentity: machine.start() });
  const ends = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) => importAgent(open(), inPieces(archive, 100 * (index + 1)))),
  );
  const codes = ends.flatMap((end) => (end.status === "rejected" ? [(end.reason as { code?: unknown }).code] : []));
  expect(["agent_busy", "ownership_lost"]).toEqual(expect.arrayContaining([...new Set(codes)]));
  const receipts = ends.flatMap((end) => (end.status === "fulfilled" ? [JSON.stringify(end.value.receipt)] : []));
  expect(new Set(receipts).size).toBe(1);
  expect(await timesImported(open(), "order-7")).toBe(1);
  expect(await finish(payer(open()))).toMatchObject({ output: "ann, 800" });
});
