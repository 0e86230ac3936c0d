import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { delegatingLog } from "../../../testing/delegatingLog.ts";
import { asking } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";

/** The receipt of an event that does not exist. */
const receipt = { kind: "take", request: "r", event: 9 };

it("a damaged inbox is deleted with its agent", async () => {
  const plain = new InMemoryPersistenceStorageProvider();
  const damaged = new LogPersistenceStorageProvider(
    delegatingLog(plain.log, {
      async *read(agentId, options) {
        for await (const entry of plain.log.read(agentId, options))
          yield { ...entry, records: entry.records.map((record) => (record.kind === "event" ? receipt : record)) };
      },
    }),
  );
  const agentOn = (storage: LogPersistenceStorageProvider) =>
    durableAgent(
      asking(async (input) => input),
      storage,
    );
  await persistence(agentOn(plain)).agent("a").send("paid", "one");
  await agentOn(plain).run("go", { agentId: "a" });
  await expect(persistence(agentOn(damaged)).agent("a").send("paid", "two")).rejects.toMatchObject({
    code: "unreadable_value",
  });
  await persistence(agentOn(damaged)).deleteAgent("a");
  const left: unknown[] = [];
  for await (const entry of plain.log.read("inbox:a")) left.push(entry);
  expect(left).toEqual([]);
});
