import { exportAgent, importAgent } from "agent-persistence/transfer";
import { expect, it } from "vitest";
import { blobsNamedIn } from "../../src/transfer/transferredBlobs.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage/LogPersistenceStorageProvider.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { bytesOf, finish, payer, storages, waitingPayer } from "./movedAgents.ts";

async function blobsOf(storage: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const line of storage.log.encodedAppends?.("order-7") ?? []) found.push(...blobsNamedIn(line));
  return found;
}

it.each(Object.keys(storages))(
  "an export from %s names a missing blob of the agent, as a copy and as a move",
  async (name) => {
    const source = await storages[name]!();
    await waitingPayer(source);
    const [blob = ""] = await blobsOf(source);
    await source.log.blobs.delete("order-7", blob);
    for (const move of [false, true]) {
      const refusal = bytesOf(exportAgent(source, "order-7", { move }));
      const message = expect.stringContaining(blob) as string;
      await expect(refusal).rejects.toMatchObject({ code: "unreadable_value", blob, message });
      expect(await collect(source.log.list())).toMatchObject([{ status: "waiting" }]);
    }
  },
);

it.each(Object.keys(storages))(
  "an agent of %s with text like a blob reference is exported without pruned blobs",
  async (name) => {
    const source = await storages[name]!();
    const made = payer(source);
    const { agent, feature } = made;
    const text = `blob://${"0".repeat(64)}-1`;
    await agent.run(text, { agentId: "order-7" });
    await finish(made);
    await agent.run("ann", { agentId: "order-7" });
    await finish(made);
    const before = await blobsOf(source);
    await feature.prune({ agentId: "order-7", policy: { maxCheckpoints: 2 } });
    const target = await storages[name]!();
    await importAgent(target, exportAgent(source, "order-7"));
    expect(before).toContain(text);
    expect(await payer(target).feature.agent("order-7").getMessages()).toEqual(
      await feature.agent("order-7").getMessages(),
    );
  },
);
