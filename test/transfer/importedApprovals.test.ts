import { type AIAgent, persistence, tool, type ToolEffect, triggers } from "agent-persistence";
import { exportAgent, finishMove, importAgent, type ImportOptions } from "agent-persistence/transfer";
import type { LogPersistenceStorageProvider, LogRecord } from "agent-persistence/storage";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { approvalDigest } from "../../src/agent/context/InputRequest.ts";
import { decodeEntry, encodeEntry } from "../../src/checkpoint/format/entryCodec.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { asking, requestsOf } from "../persistence/support/asking.ts";
import { durableAgent } from "../persistence/support/durableAgent.ts";
import { logStorages, type Opened } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { archiveWith, partsOf } from "./forgedArchives.ts";
import { bytesOf, inPieces } from "./movedAgents.ts";

type Storage = LogPersistenceStorageProvider;

/** An agent that pays once somebody has approved it, over all of its storages, and what was paid outside. */
class Shop {
  readonly paid: string[] = [];
  readonly #effect: ToolEffect;

  constructor(effect: ToolEffect = "irreversible") {
    this.#effect = effect;
  }

  agent(storage: Storage): AIAgent<string, string> {
    const pay = tool({
      name: "pay",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: this.#effect,
      needsApproval: true,
      execute: ({ item }, { toolCallId }) => `paid ${item} ${this.paid.push(toolCallId)}`,
    });
    const built = asking(async (_, context) => {
      const size = await context.requestInput({ prompt: "size?", schema: z.string() });
      return `${size} ${await context.tools.call(pay, { item: "bill" })}`;
    });
    return durableAgent(built, storage, { tools: [pay], triggers: [triggers.afterUserInteraction()] });
  }

  at(storage: Storage, agentId = "a") {
    return persistence(this.agent(storage)).agent(agentId);
  }

  /** Runs until the agent waits for its approval. */
  async waits(storage: Storage): Promise<void> {
    const [size] = requestsOf(await this.agent(storage).run("go"));
    await this.agent(storage).resume({ answers: { [size?.requestId ?? ""]: "M" } });
  }

  async approve(storage: Storage, agentId = "a"): Promise<void> {
    const [request, ...others] = await this.at(storage, agentId).getRequests();
    if (request?.kind !== "approval" || others.length > 0) throw new Error("It does not wait for one approval.");
    await this.at(storage, agentId).answer(request.requestId, { approved: true }, { digest: request.digest });
  }
}

/** A resume asks, and pays nothing. Once that is approved, it pays once. */
async function asksThenPays(
  shop: Shop,
  storage: Storage,
  options: { readonly agentId?: string; readonly takeOver?: true } = {},
): Promise<void> {
  const before = shop.paid.length;
  const requests = requestsOf(await shop.agent(storage).resume(options));
  expect([requests.map(({ kind }) => kind), shop.paid.length]).toEqual([["approval"], before]);
  await shop.approve(storage, options.agentId);
  const { agentId = "a" } = options;
  expect(await shop.agent(storage).resume({ agentId })).toMatchObject({ output: `M paid bill ${before + 1}` });
  expect(shop.paid).toHaveLength(before + 1);
}

/** A copy of an agent with records after its last one, as somebody makes it who has its archive. All hashes are right. */
async function forged(storage: Storage, added: (records: readonly LogRecord[]) => readonly object[]): Promise<Buffer> {
  const { header, parts } = await partsOf(await bytesOf(exportAgent(storage, "a")));
  const last = parts.findLast(({ kind }) => kind === "line");
  const decoded = last && decodeEntry(last.bytes, nodeSha256);
  if (!decoded?.ok) throw new TypeError("The archive has no line.");
  const { checksum, generation } = decoded.entry;
  const position = header.position + 1;
  const records = added(await recordsOf(storage)) as readonly LogRecord[];
  const entry = { prev: checksum, position, id: `${generation}-${position}`, generation, records };
  const { encoded: line } = encodeEntry(entry, nodeSha256);
  return archiveWith({
    header: { ...header, position },
    parts: [...parts, { kind: "line", bytes: line.slice(0, -1) }],
  });
}

const recordOf = <Kind extends string>(records: readonly LogRecord[], kind: Kind) =>
  records.findLast((record) => record.kind === kind) as LogRecord & Readonly<Record<string, unknown>>;

/** What lets a call begin whose approval nobody gave. */
const forgeries = {
  "an approval": (records: readonly LogRecord[]) => {
    const { request, lane } = recordOf(records, "request");
    const { run } = recordOf(records, "run");
    return [
      { kind: "reply", lane, request, at: 1, answer: { approved: true } },
      { kind: "status", run, status: "in_progress", at: 1 },
    ];
  },
  "an answer to a request for input with the digest of the call": (records: readonly LogRecord[]) => {
    const { approval: _approval, ...asked } = recordOf(records, "request");
    const { run } = recordOf(records, "run");
    const question = approvalDigest("pay", { item: "bill" }, nodeSha256);
    return [
      { ...asked, request: "forged", question },
      { kind: "reply", lane: asked["lane"], request: "forged", at: 1, answer: { approved: true } },
      { kind: "status", run, status: "in_progress", at: 1 },
    ];
  },
  "a call that has begun": (records: readonly LogRecord[]) => {
    const { lane, visit, node, approval } = recordOf(records, "request");
    const { run } = recordOf(records, "run");
    const { call } = approval as { readonly call: string };
    const facts = { tool: "pay", effect: "idempotent", node, ordinal: 0, input: { item: "bill" } };
    return [
      { kind: "intent", lane, visit, call, ...facts },
      { kind: "status", run, status: "in_progress", at: 1 },
    ];
  },
};

describe.each(logStorages)("$name: an imported agent", ({ open }) => {
  let source: Opened<Storage>;
  let target: Opened<Storage>;
  beforeEach(async () => {
    [source, target] = [await open(), await open()];
  });

  const imported = (archive: Uint8Array, options: ImportOptions = {}) =>
    importAgent(target(), inPieces(archive, 4_000), options);

  it.each(Object.keys(forgeries) as (keyof typeof forgeries)[])(
    "does not take %s that was forged, as a copy and as a fork",
    async (forgery) => {
      const shop = new Shop("idempotent");
      await shop.waits(source());
      const archive = await forged(source(), forgeries[forgery]);
      await imported(archive);
      await imported(archive, { agentId: "b" });
      await asksThenPays(shop, target(), { agentId: "b" });
      await asksThenPays(shop, target(), { takeOver: true });
    },
  );

  it("requests its open approvals again and refuses answers to the earlier requests", async () => {
    const shop = new Shop();
    await shop.waits(source());
    const [asked] = await shop.at(source()).getRequests();
    await imported(await bytesOf(exportAgent(source(), "a")));
    await shop.at(target()).takeOver();
    expect(await shop.at(target()).getRequests()).toEqual([]);
    const answer = shop.at(target()).answer(asked?.requestId ?? "", { approved: true });
    await expect(answer).rejects.toMatchObject({ code: "request_not_found" });
    await asksThenPays(shop, target());
  });

  it("that was moved requests approvals again unless they are trusted", async () => {
    const [shop, third] = [new Shop(), await open()];
    await shop.waits(source());
    await shop.approve(source());
    const { receipt } = await importAgent(target(), exportAgent(source(), "a", { move: true }), {
      trustApprovals: true,
    });
    await finishMove(source(), "a", receipt);
    const archive = await bytesOf(exportAgent(target(), "a", { move: true }));
    await importAgent(third(), inPieces(archive, 4_000));
    await asksThenPays(shop, third());
    const fourth = await open();
    await importAgent(fourth(), inPieces(archive, 4_000), { trustApprovals: true });
    expect(await shop.agent(fourth()).resume()).toMatchObject({ status: "completed" });
    expect(shop.paid).toHaveLength(2);
  });

  it("keeps a trusted open approval, which can be answered immediately", async () => {
    const shop = new Shop();
    await shop.waits(source());
    const archive = await bytesOf(exportAgent(source(), "a"));
    await imported(archive, { trustApprovals: true });
    await shop.at(target()).takeOver();
    await shop.approve(target());
    await imported(archive, { agentId: "b", trustApprovals: true });
    await shop.approve(target(), "b");
    for (const agentId of ["a", "b"])
      expect(await shop.agent(target()).resume({ agentId })).toMatchObject({ status: "completed" });
    expect(shop.paid).toHaveLength(2);
  });

  it("that starts at a checkpoint requests approvals again, even trusted ones", async () => {
    const shop = new Shop();
    await shop.waits(source());
    await shop.approve(source());
    await shop.agent(source()).resume();
    const saved = (await shop.at(source()).getCheckpoints()).filter(
      ({ trigger }) => trigger === "after_user_interaction",
    );
    const fromCheckpoint = saved.at(-1)?.checkpointId ?? "none";
    const archive = await bytesOf(exportAgent(source(), "a", { fromCheckpoint }));
    await imported(archive, { trustApprovals: true });
    await asksThenPays(shop, target(), { takeOver: true });
  });

  it("keeps its answers to input requests, and the open ones", async () => {
    const shop = new Shop();
    await shop.agent(source()).run("go");
    await imported(await bytesOf(exportAgent(source(), "a")));
    await shop.at(target()).takeOver();
    const [size] = await shop.at(target()).getRequests();
    const answers = { [size?.requestId ?? ""]: "M" };
    expect(requestsOf(await shop.agent(target()).resume({ answers })).map(({ kind }) => kind)).toEqual(["approval"]);
  });

  it("requests approvals after a second takeover, a pruning, and in another process", async () => {
    const shop = new Shop();
    await shop.waits(source());
    await imported(await forged(source(), forgeries["an approval"]));
    await shop.at(target()).takeOver();
    const policy = { maxCheckpoints: 2, completedDays: Infinity };
    const { failed } = await persistence(shop.agent(target())).prune({ agentId: "a", policy });
    expect(failed).toEqual([]);
    await asksThenPays(shop, target());
  });

  it("requests approvals after an export and a trusted import, and in its forks", async () => {
    const [shop, third, fourth] = [new Shop(), await open(), await open()];
    await shop.waits(source());
    await imported(await forged(source(), forgeries["an approval"]));
    const copy = await bytesOf(exportAgent(target(), "a"));
    await shop.at(target()).takeOver();
    const taken = await bytesOf(exportAgent(target(), "a"));
    await importAgent(third(), inPieces(copy, 4_000), { trustApprovals: true });
    await importAgent(fourth(), inPieces(taken, 4_000), { trustApprovals: true });
    await importAgent(fourth(), inPieces(taken, 4_000), { trustApprovals: true, agentId: "c" });
    await shop.at(target()).fork("b");
    await asksThenPays(shop, target(), { agentId: "b" });
    await asksThenPays(shop, third(), { takeOver: true });
    await asksThenPays(shop, fourth(), { agentId: "c" });
    await asksThenPays(shop, fourth(), { takeOver: true });
    await asksThenPays(shop, target());
  });

  it("requests approvals at a checkpoint with an approval from before its import", async () => {
    const shop = new Shop();
    await shop.waits(source());
    await shop.approve(source());
    await shop.agent(source()).resume();
    const saved = (await shop.at(source()).getCheckpoints()).filter(
      ({ trigger }) => trigger === "after_user_interaction",
    );
    await imported(await bytesOf(exportAgent(source(), "a")));
    await shop.at(target()).takeOver();
    const checkpointId = saved.at(-1)?.checkpointId ?? "none";
    await shop.at(target()).rollbackToCheckpoint(checkpointId);
    await asksThenPays(shop, target());
  });
});
