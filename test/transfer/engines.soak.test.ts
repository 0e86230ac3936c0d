import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { cancelMove, exportAgent, finishMove, importAgent } from "agent-persistence/transfer";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { type Engine, engines } from "../storage/engines/engines.ts";
import { storageAt } from "../storage/engines/storageAt.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { bytesOf, finish, inPieces, payer, storages, waitingPayer } from "./movedAgents.ts";
import { soak } from "../soak/cases.ts";

/** With values small enough to be blobs. */
async function storageOf({ place }: Engine): Promise<LogPersistenceStorageProvider> {
  const { log } = place ? await storageAt(await place()) : new InMemoryPersistenceStorageProvider();
  return new LogPersistenceStorageProvider(log, { inlineThresholdBytes: 300 });
}

describe.each(engines)("an agent $name", (engine) => {
  it("arrives unchanged, continues, and can be moved on or have its move cancelled", async () => {
    const [source, place, target] = [await storages["memory"]!(), await storageOf(engine), await storages["memory"]!()];
    const first = await waitingPayer(source);
    const arrived = await importAgent(place, exportAgent(source, "order-7", { move: true }));
    await finishMove(source, "order-7", arrived.receipt);
    const here = payer(place);
    const durable = here.feature.agent("order-7");
    expect(await durable.getRequests()).toEqual(await first.durable.getRequests());
    expect(await durable.getCheckpoints()).toEqual(await first.durable.getCheckpoints());
    const moving = await bytesOf(exportAgent(place, "order-7", { move: true }));
    expect(await bytesOf(exportAgent(place, "order-7", { move: true }))).toEqual(moving);
    await expect(here.agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "agent_moved" });
    await cancelMove(place, "order-7");
    expect(await finish(here)).toMatchObject({ status: "completed", output: "ann, 800" });
    const gone = await importAgent(target, exportAgent(place, "order-7", { move: true, gzip: true }));
    await finishMove(place, "order-7", gone.receipt);
    const moved = { code: "agent_moved", state: "moved", to: { agentId: "order-7" } };
    await expect(here.agent.run("bob", { agentId: "order-7" })).rejects.toMatchObject(moved);
    expect(await payer(target).feature.agent("order-7").getCheckpoints()).toEqual(await durable.getCheckpoints());
    await here.feature.deleteAgent("order-7");
    expect(await collect(place.log.list())).toEqual([]);
  });

  it("that does not exist cannot be taken over and is not created", async () => {
    const place = await storageOf(engine);
    const { feature } = payer(place);
    const refusal = { code: "checkpoint_not_found", message: expect.stringContaining('Agent "none"') as string };
    await expect(feature.agent("none").takeOver()).rejects.toMatchObject(refusal);
    expect(await collect(place.log.list())).toEqual([]);
    expect(await place.log.owner("none")).toBeUndefined();
  });
});

/** A short run leaves out the slow ones. */
const tried = engines.filter(({ isSlow }) => soak || !isSlow);

describe.each(tried)("an agent $name", (engine) => {
  it("is a copy until a takeover or a fork, and is exported with the same bytes", async () => {
    const [source, place] = [await storages["memory"]!(), await storageOf(engine)];
    await waitingPayer(source);
    const bytes = await bytesOf(exportAgent(source, "order-7"));
    await expect(importAgent(place, inPieces(bytes.subarray(0, -9), 1000))).rejects.toMatchObject({
      code: "invalid_archive",
    });
    expect(await collect(place.log.list())).toEqual([]);
    await importAgent(place, inPieces(bytes, 1000), { trustApprovals: true });
    await importAgent(place, inPieces(bytes, 1000), { agentId: "order-8" });
    expect(await bytesOf(exportAgent(place, "order-7"))).toEqual(bytes);
    const here = payer(place);
    await expect(here.agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "agent_copied" });
    await here.feature.agent("order-7").takeOver();
    await here.feature.agent("order-7").takeOver();
    expect(await finish(here, "order-7")).toMatchObject({ output: "ann, 800" });
    expect(await finish(here, "order-8")).toMatchObject({ output: "ann, 800" });
  });
});
