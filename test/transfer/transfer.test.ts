import { randomBytes } from "node:crypto";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { cancelMove, exportAgent, finishMove, importAgent, type MoveReceipt } from "agent-persistence/transfer";
import { describe, expect, it } from "vitest";
import { collect } from "../storage/file/support/fixture.ts";
import { bytesOf, finish, inPieces, payer, storages, timesImported, waitingPayer } from "./movedAgents.ts";
import { wholeSoak } from "../soak/cases.ts";

const pairs = [["memory", "files"], ["files", "memory"], ...(wholeSoak ? [["files", "files"] as const] : [])] as const;

describe.each(pairs)("an agent from %s in %s", (from, to) => {
  const make = async () => [await storages[from]!(), await storages[to]!()] as const;

  it("arrives with its checkpoints, messages and requests", async () => {
    const [source, target] = await make();
    const { durable } = await waitingPayer(source);
    const report = await importAgent(target, exportAgent(source, "order-7", { move: true }));
    const there = payer(target).feature.agent("order-7");
    expect(await there.getCheckpoints()).toEqual(await durable.getCheckpoints());
    expect(await there.getMessages()).toEqual(await durable.getMessages());
    expect(await there.getRequests()).toEqual(await durable.getRequests());
    expect(report).toMatchObject({ agentId: "order-7", checkpoints: (await there.getCheckpoints()).length });
  });

  it("that is moved continues at the target without repeating a call, and the source names the target", async () => {
    const [source, target] = await make();
    const here = await waitingPayer(source);
    const archive = exportAgent(source, "order-7", { move: true });
    const report = await importAgent(target, archive);
    const { receipt } = report;
    await expect(here.agent.resume({ agentId: "order-7" })).rejects.toMatchObject({
      code: "agent_moved",
      state: "moving",
    });
    const [asked] = await here.durable.getRequests();
    await expect(here.feature.answer(asked?.requestId ?? "", true)).rejects.toMatchObject({ code: "agent_moved" });
    const there = payer(target);
    expect(await collect(there.feature.unfinished())).toMatchObject([{ agentId: "order-7", status: "waiting" }]);
    expect(await finish(there)).toMatchObject({ status: "completed", output: "ann, 800" });
    expect([here.paid, there.paid]).toEqual([["ann"], ["ann"]]);
    const again = await importAgent(target, exportAgent(source, "order-7", { move: true }));
    expect(again).toEqual({ ...report, checkpoints: (await there.feature.agent("order-7").getCheckpoints()).length });
    expect(await timesImported(target, "order-7")).toBe(1);
    await finishMove(source, "order-7", JSON.parse(JSON.stringify(receipt)) as MoveReceipt);
    await finishMove(source, "order-7", receipt);
    const [request] = await here.durable.getRequests();
    const moved = { code: "agent_moved", state: "moved", to: { agentId: "order-7" } };
    await expect(here.agent.resume({ agentId: "order-7" })).rejects.toMatchObject(moved);
    await expect(here.agent.run("ann", { agentId: "order-7" })).rejects.toMatchObject(moved);
    await expect(here.durable.answer(request?.requestId ?? "", true)).rejects.toMatchObject(moved);
    await expect(cancelMove(source, "order-7")).rejects.toMatchObject(moved);
    await expect(bytesOf(exportAgent(source, "order-7"))).rejects.toMatchObject(moved);
    expect(await collect(here.feature.unfinished())).toEqual([]);
    expect(await collect(source.log.list({ status: "moved" }))).toHaveLength(1);
    const nothing = { pruned: [], busy: [], failed: [], bytes: 0 };
    expect(await here.feature.prune({ policy: { maxCheckpoints: 2 }, now: Date.now() + 1e12 })).toEqual(nothing);
    await here.feature.deleteAgent("order-7");
    expect(await collect(source.log.list())).toEqual([]);
  });

  it("that is copied runs only after a takeover, and is not listed before it", async () => {
    const [source, target] = await make();
    const here = await waitingPayer(source);
    await importAgent(target, exportAgent(source, "order-7"));
    const there = payer(target);
    await expect(there.agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "agent_copied" });
    const [request] = await there.feature.agent("order-7").getRequests();
    await expect(there.feature.answer(request?.requestId ?? "", true)).rejects.toMatchObject({
      code: "agent_copied",
    });
    expect(await collect(there.feature.unfinished())).toEqual([]);
    expect(await collect(there.feature.listRequests())).toEqual([]);
    expect(await collect(target.log.list({ status: "copied" }))).toHaveLength(1);
    expect(await there.agent.resume({ agentId: "order-7", takeOver: true })).toMatchObject({ status: "waiting" });
    expect(await collect(there.feature.unfinished())).toMatchObject([{ agentId: "order-7", status: "waiting" }]);
    expect(await finish(there)).toMatchObject({ output: "ann, 800" });
    expect(await finish(here)).toMatchObject({ output: "ann, 800" });
  });

  it("gives the same bytes when it is exported, imported and exported, compressed or not", async () => {
    const [source, target] = await make();
    await waitingPayer(source);
    const bytes = await bytesOf(exportAgent(source, "order-7"));
    const compressed = await bytesOf(exportAgent(source, "order-7", { gzip: true }));
    expect(compressed.length).toBeLessThan(bytes.length / 2);
    await importAgent(target, inPieces(compressed, 7), { trustApprovals: true });
    expect(await bytesOf(exportAgent(target, "order-7"))).toEqual(bytes);
    await expect(importAgent(target, inPieces(bytes, 100))).rejects.toMatchObject({ code: "agent_exists" });
    await expect(importAgent(source, inPieces(bytes, 100))).rejects.toMatchObject({ code: "agent_exists" });
  });

  it("is a fork under another id, from the head or a checkpoint, without the effects of the original", async () => {
    const [source, target] = await make();
    const here = await waitingPayer(source);
    const there = payer(target);
    const fork = await importAgent(target, exportAgent(source, "order-7", { gzip: true }), { agentId: "order-7-copy" });
    expect(fork.agentId).toBe("order-7-copy");
    const [asked] = await here.durable.getRequests();
    const [request] = await there.feature.agent("order-7-copy").getRequests();
    expect(request?.requestId).not.toBe(asked?.requestId);
    expect(await finish(there, "order-7-copy")).toMatchObject({ output: "ann, 800" });
    const forked = there.feature.agent("order-7-copy");
    const [first] = await forked.getCheckpoints();
    const report = await forked.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(report.skipped).toMatchObject([{ owner: "order-7" }]);
    await finish(here);
    const { checkpointId = "" } = (await here.durable.getCheckpoints()).find(({ nodeId }) => nodeId === "ask") ?? {};
    await here.durable.nameCheckpoint(checkpointId, "before asking");
    const from = exportAgent(source, "order-7", { fromCheckpoint: checkpointId });
    await importAgent(target, from, { agentId: "order-7-again" });
    expect(await there.agent.resume({ agentId: "order-7-again" })).toMatchObject({ status: "waiting" });
    expect(await finish(there, "order-7-again")).toMatchObject({ output: "ann, 800" });
    expect(there.paid).toEqual(["ann", "ann"]);
    await importAgent(target, exportAgent(source, "order-7", { fromCheckpoint: "before asking" }));
    expect(await there.agent.resume({ agentId: "order-7", takeOver: true })).toMatchObject({ status: "waiting" });
    await expect(bytesOf(exportAgent(source, "order-7", { fromCheckpoint: "none" }))).rejects.toMatchObject({
      code: "checkpoint_not_found",
    });
    const moving = exportAgent(source, "order-7", { move: true });
    await expect(importAgent(target, moving, { agentId: "order-8" })).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("continues at the target after a pruning that rewrote the start of branches", async () => {
    const [source, target] = await make();
    const { durable, feature } = await waitingPayer(source);
    const [, asks] = await durable.getCheckpoints();
    const edit = { by: "ann", reason: "another one" };
    for (const lastInput of ["bob", "carl", "dan"])
      await durable.editCheckpoint(asks?.checkpointId ?? "", { ...edit, lastInput });
    await feature.prune({ agentId: "order-7", policy: { maxCheckpoints: 2, maxCheckpointsPaused: 2 } });
    await importAgent(target, exportAgent(source, "order-7", { move: true }));
    const there = payer(target);
    const moved = there.feature.agent("order-7");
    expect(await moved.checkpointTree()).toEqual(await durable.checkpointTree());
    expect(await there.agent.resume({ agentId: "order-7" })).toMatchObject({ status: "waiting" });
    expect(await finish(there)).toMatchObject({ output: "dan, 800" });
  });

  it("whose move is cancelled runs at the source again", async () => {
    const [source] = await make();
    const here = await waitingPayer(source);
    const first = await bytesOf(exportAgent(source, "order-7", { move: true }));
    expect(await bytesOf(exportAgent(source, "order-7", { move: true }))).toEqual(first);
    expect(await collect(here.feature.unfinished())).toEqual([]);
    await cancelMove(source, "order-7");
    await cancelMove(source, "order-7");
    expect(await finish(here)).toMatchObject({ output: "ann, 800" });
  });
});

describe("a move", () => {
  it("takes effect before the first byte", async () => {
    const source = await storages["memory"]!();
    const { agent } = await waitingPayer(source);
    const archive = exportAgent(source, "order-7", { move: true });
    await archive.next();
    await expect(agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "agent_busy" });
    for await (const _ of archive);
    await expect(agent.resume({ agentId: "order-7" })).rejects.toMatchObject({ code: "agent_moved" });
  });

  it.each(["error", "return", "signal"])("is cancelled if the export that started it ends early: %s", async (end) => {
    const source = await storages["memory"]!();
    const here = await waitingPayer(source);
    await here.durable.note({ key: "large", value: randomBytes(300_000).toString("hex") });
    const stop = new AbortController();
    const archive = exportAgent(source, "order-7", { move: true, signal: stop.signal });
    const read = async () => {
      for await (const _ of archive) {
        if (end === "return") break;
        if (end === "signal") stop.abort();
        else await expect(archive.throw(new Error("the connection is lost"))).rejects.toThrow("connection");
      }
    };
    await read().catch((error: unknown) => expect(error).toBe(stop.signal.reason));
    expect(await collect(source.log.list())).toMatchObject([{ status: "waiting" }]);
    expect(await finish(here)).toMatchObject({ status: "completed" });
  });

  it("is cancelled by the signal of its export until the export ends", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const stop = new AbortController();
    const archive = exportAgent(source, "order-7", { move: true, signal: stop.signal });
    await archive.next();
    stop.abort();
    await expect(archive.next()).rejects.toBe(stop.signal.reason);
    expect(await collect(source.log.list())).toMatchObject([{ status: "waiting" }]);
    await bytesOf(exportAgent(source, "order-7", { move: true, signal: new AbortController().signal }));
    expect(await collect(source.log.list())).toMatchObject([{ status: "moving" }]);
  });

  it("is kept if the reader of its export ends after the last bytes", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    for await (const _ of exportAgent(source, "order-7", { move: true })) break;
    expect(await collect(source.log.list())).toMatchObject([{ status: "moving" }]);
  });

  it("stays open if a later export of it ends early", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    await bytesOf(exportAgent(source, "order-7", { move: true }));
    const again = exportAgent(source, "order-7", { move: true });
    await again.next();
    await again.return();
    expect(await collect(source.log.list())).toMatchObject([{ status: "moving" }]);
  });

  it("is refused while the agent runs", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const owned = await source.log.open("order-7", { host: "", processId: 1, nonce: "other" });
    await expect(bytesOf(exportAgent(source, "order-7", { move: true }))).rejects.toMatchObject({ code: "agent_busy" });
    expect((await bytesOf(exportAgent(source, "order-7"))).length).toBeGreaterThan(0);
    await owned.release();
  });

  it("accepts only its receipt", async () => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const copy = await importAgent(await storages["memory"]!(), exportAgent(source, "order-7"));
    const moved = await importAgent(await storages["memory"]!(), exportAgent(source, "order-7", { move: true }));
    const { receipt } = moved;
    const wrong: readonly MoveReceipt[] = [
      copy.receipt,
      { ...receipt, move: "another" },
      { ...receipt, to: { agentId: "another" } },
      { ...receipt, from: "another" },
      { ...receipt, digest: "" },
    ];
    for (const given of wrong)
      await expect(finishMove(source, "order-7", given)).rejects.toMatchObject({ code: "invalid_input" });
    await cancelMove(source, "order-7");
    await expect(finishMove(source, "order-7", receipt)).rejects.toMatchObject({ code: "invalid_input" });
    const again = await importAgent(await storages["memory"]!(), exportAgent(source, "order-7", { move: true }));
    await expect(finishMove(source, "order-7", receipt)).rejects.toMatchObject({ code: "invalid_input" });
    await finishMove(source, "order-7", again.receipt);
  });

  it.each(["cancelled", "finished"])("returns its receipt again after a later move that was %s", async (end) => {
    const [source, target] = [await storages["memory"]!(), await storages["memory"]!()];
    await waitingPayer(source);
    const archive = await bytesOf(exportAgent(source, "order-7", { move: true }));
    const { receipt } = await importAgent(target, inPieces(archive, 1_000));
    const onwards = await bytesOf(exportAgent(target, "order-7", { move: true }));
    if (end === "cancelled") await cancelMove(target, "order-7");
    else {
      const there = await importAgent(await storages["memory"]!(), inPieces(onwards, 1_000));
      await finishMove(target, "order-7", there.receipt);
    }
    expect(await importAgent(target, inPieces(archive, 1_000))).toMatchObject({ receipt });
    expect(await timesImported(target, "order-7")).toBe(3);
    await finishMove(source, "order-7", receipt);
    const other = await storages["memory"]!();
    await waitingPayer(other);
    await expect(importAgent(other, inPieces(archive, 1_000))).rejects.toMatchObject({ code: "agent_exists" });
  });

  it("is refused for an agent that is unknown, not moving or a copy", async () => {
    const [source, target] = [await storages["memory"]!(), await storages["memory"]!()];
    await expect(bytesOf(exportAgent(source, "none"))).rejects.toMatchObject({ code: "invalid_input" });
    await expect(bytesOf(exportAgent(source, "none", { move: true }))).rejects.toMatchObject({ code: "invalid_input" });
    await waitingPayer(source);
    await expect(cancelMove(source, "order-7")).rejects.toMatchObject({ code: "invalid_input" });
    await importAgent(target, exportAgent(source, "order-7"));
    await expect(bytesOf(exportAgent(target, "order-7", { move: true }))).rejects.toMatchObject({
      code: "agent_copied",
    });
  });

  it.each([Buffer.from("{}"), "archive.gz", undefined])(
    "accepts only a stream and explains the refusal of other values",
    async (given) => {
      const target = await storages["memory"]!();
      await expect(importAgent(target, given as never)).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining("expected an async iterable of bytes, such as a Readable"),
      });
    },
  );

  it("requires a storage with a log", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const three = {
      getCheckpoints: storage.getCheckpoints.bind(storage),
      saveCheckpoint: storage.saveCheckpoint.bind(storage),
      getLatestCheckpoint: storage.getLatestCheckpoint.bind(storage),
    };
    await expect(bytesOf(exportAgent(three, "a"))).rejects.toMatchObject({ code: "not_supported" });
    await expect(importAgent(three, inPieces(new Uint8Array(), 1))).rejects.toMatchObject({ code: "not_supported" });
  });
});
