import { generateKeyPairSync, sign, verify } from "node:crypto";
import {
  AIAgent,
  Persistence,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type RunResult,
} from "agent-persistence";
import {
  signApproval,
  signedApprovals,
  type ApprovalToSign,
  type ApprovalVerifier,
  type SignApprovalOptions,
} from "agent-persistence/seals";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { LogRecord } from "../../../src/checkpoint/records/Entry.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { requestsOf } from "../support/asking.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

const keys = { "ann@example.com": generateKeyPairSync("ed25519"), "bob@example.com": generateKeyPairSync("ed25519") };
type Person = keyof typeof keys;
const [ann, bob] = ["ann@example.com", "bob@example.com"] as const;

const signs = (by: Person) => (bytes: Uint8Array) => sign(null, bytes, keys[by].privateKey);
const approvals = signedApprovals({
  verify: (bytes, signature, { by }) => verify(null, bytes, keys[by as Person].publicKey, signature),
});
const unsigned = { code: "invalid_input", problems: [{ path: "signature" }] };

interface Options {
  readonly check?: ApprovalVerifier | undefined;
  readonly agentId?: string;
}

/** Pays twice, and each payment needs an approval. */
function paying(storage: LogPersistenceStorageProvider, paid: string[], { check = approvals }: Options = {}) {
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ cents: z.number() }),
    effect: "idempotent",
    needsApproval: true,
    execute: ({ cents }, { toolCallId }) => {
      paid.push(toolCallId);
      return `paid ${cents}`;
    },
  });
  const twice = strategy<string, string>("twice", (graph) => {
    const first = graph.node("first", (_input: string, context: AgentContext) => context.tools.call(pay, { cents: 5 }));
    const second = graph.node("second", (_input: string, context: AgentContext) =>
      context.tools.call(pay, { cents: 5 }),
    );
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  return new AIAgent({
    id: "a",
    llmModel: "none",
    promptExecutor: scriptedModel([]),
    tools: [pay],
    strategy: twice,
  }).install(Persistence, { storage, approvals: check });
}

function approvalOf(result: RunResult<unknown>, agentId = "a"): ApprovalToSign {
  const [request] = requestsOf(result);
  if (request?.kind !== "approval") throw new Error("The run waits for no approval.");
  return { ...request, agentId };
}

const signed = (request: ApprovalToSign, by: Person = ann, options: Partial<SignApprovalOptions> = {}) =>
  signApproval(request, { by, sign: signs(by), ...options });

/** Writes a record into a log, as someone with access to the storage can, and lets the agent continue. */
async function forge(storage: LogPersistenceStorageProvider, record: LogRecord): Promise<void> {
  const owned = await storage.log.open("a", processOwner());
  const { run } = (await lastOf(storage, "run")) as Stored & { readonly run: string };
  const status = { kind: "status", run, status: "in_progress", at: Date.now() } as LogRecord;
  const records = [record, status];
  await owned.append({ id: `${owned.generation}-${owned.position + 1}`, records }, owned.position);
  await owned.release();
}

type Stored = LogRecord & { readonly request: string; readonly lane: number; readonly answer?: unknown };

async function lastOf(storage: LogPersistenceStorageProvider, kind: string): Promise<Stored> {
  const found = (await recordsOf(storage)).findLast((record) => record.kind === kind);
  if (!found) throw new Error(`The log has no ${kind}.`);
  return found as Stored;
}

describe.each(logStorages)("signed approvals, $name", ({ open }) => {
  async function waiting(options: Options = {}) {
    const opened = await open();
    const paid: string[] = [];
    const agent = () => paying(opened(), paid, options);
    const request = approvalOf(await agent().run("go"));
    return { opened, paid, agent, request, durable: () => persistence(agent()).agent() };
  }

  it("allow the calls that they are for", async () => {
    const { agent, durable, request, paid, opened } = await waiting();
    await durable().answer(request.requestId, await signed(request), { by: ann, digest: request.digest });
    const second = approvalOf(await agent().resume());
    expect(paid).toHaveLength(1);
    expect(await lastOf(opened(), "reply")).toMatchObject({ by: ann });
    const answers = { [second.requestId]: await signed(second, bob, { reason: "agreed" }) };
    expect(await agent().resume({ answers })).toMatchObject({ output: "paid 5" });
    expect(paid).toHaveLength(2);
  });

  it("are required in answers, and a refused answer changes nothing", async () => {
    const { agent, durable, request, paid, opened } = await waiting();
    const { requestId } = request;
    const before = await recordsOf(opened());
    const other = { ...request, requestId: `${requestId}x` };
    const refused: readonly (readonly [answer: unknown, by?: string])[] = [
      [{ approved: true }],
      [{ approved: true, signature: "" }],
      [{ approved: true, signature: "x.y" }],
      [await signed(request, ann, { sign: signs(bob) })],
      [await signed(request), bob],
      [{ ...(await signed(request)), reason: "added" }],
      [await signed(other)],
      [await signed({ ...request, agentId: "b" })],
      [await signed({ ...request, digest: `${request.digest}x` })],
      [await signed({ ...request, askedAt: new Date(0).toISOString() })],
    ];
    for (const [answer, by] of refused)
      await expect(durable().answer(requestId, answer, by === undefined ? {} : { by })).rejects.toMatchObject(unsigned);
    const answers = { [requestId]: { approved: true } };
    await expect(agent().resume({ answers })).rejects.toMatchObject(unsigned);
    expect(await recordsOf(opened())).toEqual(before);
    expect(approvalOf(await agent().resume())).toMatchObject({ requestId });
    expect(paid).toEqual([]);
  });

  it("are not required for rejections", async () => {
    const { agent, durable, request, paid } = await waiting();
    await durable().answer(request.requestId, { approved: false, reason: "no" });
    await expect(agent().resume()).rejects.toMatchObject({ code: "tool_rejected" });
    expect(paid).toEqual([]);
  });

  it("cannot be forged in the log", async () => {
    const { opened, agent, durable, request, paid } = await waiting();
    const { lane } = await lastOf(opened(), "request");
    const reply = { kind: "reply", lane, request: request.requestId, at: Date.now() };
    await forge(opened(), { ...reply, answer: { approved: true }, by: ann } as LogRecord);
    const again = approvalOf(await agent().resume());
    expect(again).toMatchObject({ requestId: request.requestId, problems: [{ path: "signature" }] });
    expect(paid).toEqual([]);
    const forged = { ...(await signed(request, ann, { sign: signs(bob) })) };
    await forge(opened(), { ...reply, answer: forged, by: ann } as LogRecord);
    expect(approvalOf(await agent().resume())).toMatchObject({ requestId: request.requestId });
    expect(paid).toEqual([]);
    await durable().answer(request.requestId, await signed(again), { by: ann });
    approvalOf(await agent().resume());
    expect(paid).toHaveLength(1);
  });

  it("are requested again after a malformed answer in the log", async () => {
    const { opened, agent, durable, request, paid } = await waiting();
    const { lane } = await lastOf(opened(), "request");
    const approval = await signed(request);
    const malformed = [
      { ...approval, signature: 5 },
      { ...approval, reason: 5 },
      { ...approval, more: 5 },
      { approved: 1 },
    ];
    for (const answer of malformed) {
      await forge(opened(), { kind: "reply", lane, request: request.requestId, at: Date.now(), answer } as LogRecord);
      expect(approvalOf(await agent().resume())).toMatchObject({ problems: [{ path: "signature" }] });
    }
    await durable().answer(request.requestId, approval, { by: ann });
    approvalOf(await agent().resume());
    expect(paid).toHaveLength(1);
  });

  it("count without the check, which shows that the forged records are complete", async () => {
    const { opened, request, paid } = await waiting({ check: undefined });
    const unchecked = () => paying(opened(), paid, { check: { verify: () => true } satisfies ApprovalVerifier });
    const { lane } = await lastOf(opened(), "request");
    const reply = { kind: "reply", lane, request: request.requestId, at: Date.now(), answer: { approved: true } };
    await forge(opened(), reply as LogRecord);
    approvalOf(await unchecked().resume());
    expect(paid).toHaveLength(1);
  });

  it("cannot be moved to another request", async () => {
    const { opened, agent, durable, request, paid } = await waiting();
    await durable().answer(request.requestId, await signed(request), { by: ann });
    const second = approvalOf(await agent().resume());
    expect(second.digest).toBe(request.digest);
    const first = await lastOf(opened(), "reply");
    const { lane } = await lastOf(opened(), "request");
    await forge(opened(), { ...first, lane, request: second.requestId } as LogRecord);
    expect(approvalOf(await agent().resume())).toMatchObject({ requestId: second.requestId });
    expect(paid).toHaveLength(1);
  });

  it("cannot be used again after a rollback", async () => {
    const { opened, agent, durable, request, paid } = await waiting();
    await durable().answer(request.requestId, await signed(request), { by: ann });
    approvalOf(await agent().resume());
    const reply = await lastOf(opened(), "reply");
    const [start] = await durable().getCheckpoints();
    await durable().rollbackToCheckpoint(start?.checkpointId ?? "");
    const again = approvalOf(await agent().resume());
    expect(again.digest).toBe(request.digest);
    const { lane } = await lastOf(opened(), "request");
    await forge(opened(), { ...reply, lane, request: again.requestId } as LogRecord);
    expect(approvalOf(await agent().resume())).toMatchObject({ requestId: again.requestId });
    await expect(durable().answer(again.requestId, reply.answer, { by: ann })).rejects.toMatchObject(unsigned);
    expect(paid).toHaveLength(1);
  });

  it("cannot be replaced by a forged start of the call", async () => {
    const { opened, agent, request, paid } = await waiting();
    const { lane, visit, approval } = (await lastOf(opened(), "request")) as Stored & {
      readonly visit: unknown;
      readonly approval: { readonly call: string; readonly input: unknown };
    };
    const start = {
      kind: "intent",
      lane,
      visit,
      call: approval.call,
      tool: "pay",
      effect: "idempotent",
      node: "first",
    };
    await forge(opened(), { ...start, input: approval.input, ordinal: 0 } as LogRecord);
    expect(approvalOf(await agent().resume())).toMatchObject({ requestId: request.requestId });
    expect(paid).toEqual([]);
  });

  it("stay valid when the process crashes at each append after the approval", async () => {
    for (let saves = 0; saves < 6; saves++) {
      const { opened, agent, durable, request, paid } = await waiting();
      await durable().answer(request.requestId, await signed(request), { by: ann });
      const crashing = paying(crashAfter(opened(), saves) as LogPersistenceStorageProvider, paid);
      await crashing.resume().catch(() => undefined);
      const second = approvalOf(await agent().resume());
      expect([saves, second.requestId === request.requestId, new Set(paid).size]).toEqual([saves, false, 1]);
    }
  });
});

describe("signApproval() and signedApprovals()", () => {
  it("reject unknown options, and a request without the id of its agent", async () => {
    const invalid = { code: "invalid_input" };
    const { agentId, ...own } = { agentId: "a", requestId: "r", askedAt: new Date(0).toISOString(), digest: "d" };
    const request = { ...own, agentId };
    const unnamed = { ...invalid, problems: [{ path: "agentId" }] };
    await expect(signApproval(own as never, { by: ann, sign: signs(ann) })).rejects.toMatchObject(unnamed);
    await expect(signApproval(request, { by: "", sign: signs(ann) })).rejects.toMatchObject(invalid);
    await expect(signApproval(request, { by: ann, sign: signs(ann), x: 1 } as never)).rejects.toMatchObject(invalid);
    expect(() => signedApprovals({} as never)).toThrow(expect.objectContaining(invalid));
  });

  it("sign the person and the time", async () => {
    const at = new Date("2026-11-27T08:00:00Z");
    const request = { agentId: "a", requestId: "r", askedAt: at.toISOString(), digest: "d" };
    const answer = await signApproval(request, { by: ann, sign: signs(ann), at });
    const seen: unknown[] = [];
    const check = signedApprovals({
      verify: (bytes, signature, person) => {
        seen.push(person);
        return verify(null, bytes, keys[ann].publicKey, signature);
      },
    });
    expect(await check.verify({ ...request, by: undefined, answer })).toBe(true);
    expect(seen).toEqual([{ by: ann, at: at.toISOString() }]);
  });
});
