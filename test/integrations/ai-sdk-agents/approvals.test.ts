import type { ModelMessage, UIMessage, UIMessageChunk } from "ai";
import { InMemoryPersistenceStorageProvider, RequestNotOpenError } from "agent-persistence";
import { type Durable, durableAgent, durableRun } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";
import { chunksOf, messageOf } from "./support/uiStream.ts";

/** A desk that refunds twice in one step, once people approve. Each process has one of its own, on one storage. */
function refundDesk(sdk: Sdk, storage = new InMemoryPersistenceStorageProvider(), refunded: string[] = []) {
  const { stepCountIs, tool, ToolLoopAgent } = sdk.ai;
  const model = scriptedModel(
    [[calling("refund", { id: "7" }), calling("refund", { id: "8" })], text("Refunded what was approved.")],
    sdk,
  );
  const refund = tool({
    inputSchema: z.object({ id: z.string() }),
    needsApproval: true,
    execute: async ({ id }) => {
      refunded.push(id);
      return { refund: id };
    },
  });
  const desk = durableAgent(
    { storage },
    (durable) =>
      new ToolLoopAgent({
        id: "desk",
        model: durable.model(model),
        tools: durable.tools({ refund }),
        stopWhen: stepCountIs(8),
      }),
  );
  return { storage, refunded, model, desk };
}

const user: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Refund 7 and 8." }] };

/** The messages that a run has added. Only version 7 has `responseMessages`. */
interface Added {
  readonly response:
    | PromiseLike<{ readonly messages: readonly ModelMessage[] }>
    | { readonly messages: readonly ModelMessage[] };
  readonly responseMessages?: PromiseLike<readonly ModelMessage[]> | readonly ModelMessage[];
}

/** A recorded text comes in one piece. */
function withoutPieces(chunks: readonly UIMessageChunk[]): readonly UIMessageChunk[] {
  return chunks.filter(({ type }) => type !== "text-delta");
}

describe.each(sdks)("approvals of a durable agent of the AI SDK $version", (sdk) => {
  const { createAgentUIStreamResponse } = sdk.ai;
  // Version 7 takes no id of a message from the stream of an agent.
  const ids = sdk.version === 7 ? { generateMessageId: () => "m1" } : {};

  it("are refused in durableRun, and so are rollbacks", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const refund = sdk.ai.tool({ inputSchema: z.object({}), execute: () => "refunded" });
    const careful = { ...refund, needsApproval: true };
    const refused = (path: string) => ({
      code: "invalid_input",
      message: expect.stringMatching(new RegExp(`${path}.*durableAgent`)) as unknown,
    });
    const run = (define: (durable: Durable) => object) =>
      durableRun({ storage, agentId: "a" }, (durable) => Object.keys(define(durable)));
    await expect(run(({ tools }) => tools({ careful }))).rejects.toMatchObject(refused("tools.careful.needsApproval"));
    const undone = run(({ tools }) => tools({ refund }, { refund: { rollback: () => "undone" } }));
    await expect(undone).rejects.toMatchObject(refused("settings.refund.rollback"));
  });

  it("are not made after a rejection, even if the tool needs no approval any longer", async () => {
    let isNeeded = true;
    const paid: number[] = [];
    const pay = sdk.ai.tool({
      inputSchema: z.object({ cents: z.number() }),
      needsApproval: () => isNeeded,
      execute: async ({ cents }) => paid.push(cents),
    });
    const model = scriptedModel([[calling("pay", { cents: 500 })], text("done")], sdk);
    const desk = durableAgent(
      { storage: new InMemoryPersistenceStorageProvider() },
      (durable) => new sdk.ai.ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ pay }) }),
    );
    await desk.for("a").generate({ prompt: "Pay." });
    const [request] = await desk.agent("a").getRequests();
    await desk.agent("a").answer(request!.requestId, { approved: false, reason: "Too much." });
    isNeeded = false;
    expect((await desk.for("a").resume()).text).toBe("done");
    expect(paid).toEqual([]);
    expect(JSON.stringify(model.asked.at(-1)?.prompt)).toContain("Too much.");
  });

  it("are answered from another process, and the model receives a denial as such", async () => {
    const first = refundDesk(sdk);
    const result = await first.desk.for("a").generate({ prompt: "Refund 7 and 8." });
    expect(result.content.filter(({ type }) => type === "tool-approval-request")).toHaveLength(2);
    const { desk, model, refunded } = refundDesk(sdk, first.storage);
    // What still waits is shown again, and nothing is called.
    expect((await desk.for("a").resume()).toolCalls).toEqual(result.toolCalls);
    const requests = await desk.agent("a").getRequests();
    expect(requests.map((each) => each.kind === "approval" && each.toolCallId)).toEqual(
      result.toolCalls.map(({ toolCallId }) => toolCallId),
    );
    await desk.agent("a").answer(requests[0]!.requestId, { approved: true });
    await desk.agent("a").answer(requests[1]!.requestId, { approved: false, reason: "too late" });
    const resumed = await desk.for("a").resume();
    expect(resumed.text).toBe("Refunded what was approved.");
    expect([...first.refunded, ...refunded]).toEqual(["7"]);
    const outputs = model.asked[0]?.prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
    expect(outputs).toMatchObject([
      { type: "tool-result", toolCallId: "call_1", output: { type: "json", value: { refund: "7" } } },
      { type: "tool-result", toolCallId: "call_1", output: { type: "execution-denied", reason: "too late" } },
    ]);
  });

  it("give a resumed stream the same new messages as a resume without a stream", async () => {
    const { desk } = refundDesk(sdk);
    await desk.for("a").generate({ prompt: "Refund 7 and 8." });
    for (const { requestId } of await desk.agent("a").getRequests())
      await desk.agent("a").answer(requestId, { approved: true });
    const resumed: Added = await desk.for("a").resume();
    const stream: Added = await desk.for("a").resumeStream();
    const added = async ({ response, responseMessages }: Added) =>
      (await responseMessages) ?? (await response).messages;
    expect((await added(resumed)).map(({ role }) => role)).toEqual(["tool", "assistant"]);
    expect(await added(stream)).toEqual(await added(resumed));
  });

  /** The messages of a client that decides about both refunds. */
  async function deciding({ desk }: ReturnType<typeof refundDesk>) {
    const prompt = { role: "user" as const, content: "Refund 7 and 8." };
    const { content, response } = await desk.for("a").generate({ prompt: [prompt] });
    const approvals = content.filter((part) => part.type === "tool-approval-request");
    return (...decisions: readonly { approved: boolean; reason?: string }[]) => [
      prompt,
      ...response.messages,
      {
        role: "tool" as const,
        content: decisions.map((decision, at) => ({
          type: "tool-approval-response" as const,
          approvalId: approvals[at]!.approvalId,
          ...decision,
        })),
      },
    ];
  }

  it("are all left open by messages with a malformed decision", async () => {
    const own = refundDesk(sdk);
    const messages = await deciding(own);
    const malformed = messages({ approved: true }, { approved: false, reason: 5 as never });
    await expect(own.desk.for("a").generate({ messages: malformed })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await own.desk.agent("a").getRequests()).toHaveLength(2);
    const denied = messages({ approved: false }, { approved: false });
    expect((await own.desk.for("a").generate({ messages: denied })).text).toBe("Refunded what was approved.");
    expect(own.refunded).toEqual([]);
  });

  it.each([1, 2])("are refused in messages that contradict a decision, with %i recorded", async (recorded) => {
    const own = refundDesk(sdk);
    const { desk } = own;
    const messages = await deciding(own);
    for (const { requestId } of (await desk.agent("a").getRequests()).slice(0, recorded))
      await desk.agent("a").answer(requestId, { approved: true });
    const denied = messages({ approved: false }, { approved: false });
    await expect(desk.for("a").generate({ messages: denied })).rejects.toMatchObject({ code: "request_answered" });
    expect(await desk.agent("a").getRequests()).toHaveLength(2 - recorded);
    expect(own.refunded).toEqual([]);
  });

  it("of calls that a rollback replaced are refused by a stream", async () => {
    const own = refundDesk(sdk);
    const { desk } = own;
    const messages = (await deciding(own))({ approved: true }, { approved: true });
    expect(await (await desk.for("a").stream({ messages })).text).toBe("Refunded what was approved.");
    const [start] = await desk.agent("a").getCheckpoints();
    await desk.agent("a").rollbackToCheckpoint(start!.checkpointId);
    await desk.for("a").resume();
    for (const { requestId } of await desk.agent("a").getRequests())
      await desk.agent("a").answer(requestId, { approved: true });
    await desk.for("a").resume();
    await expect(desk.for("a").stream({ messages })).rejects.toMatchObject({ code: "request_not_found" });
  });

  it("are answered by a client's messages, whose arguments are ignored", async () => {
    const first = refundDesk(sdk);
    const shown = await messageOf(
      await createAgentUIStreamResponse({ agent: first.desk.for("a"), uiMessages: [user], ...ids }),
    );
    const answered = {
      ...shown,
      parts: shown.parts.map((part) =>
        part.type === "tool-refund" && part.state === "approval-requested"
          ? {
              ...part,
              input: { id: "999" },
              state: "approval-responded",
              approval: { id: part.approval.id, approved: true },
            }
          : part,
      ),
    };
    const { desk, refunded } = refundDesk(sdk, first.storage);
    const chunks = await chunksOf(
      await createAgentUIStreamResponse({ agent: desk.for("a"), uiMessages: [user, answered], ...ids }),
    );
    expect(refunded.toSorted()).toEqual(["7", "8"]);
    const types = chunks.map(({ type }) => type);
    expect(types).not.toContain("tool-input-available");
    expect(types.filter((type) => type === "tool-output-available")).toHaveLength(2);
    // A client that comes back gets all of it, as one message under the id that it had.
    const whole = await messageOf((await desk.for("a").resumeStream()).toUIMessageStreamResponse(ids));
    expect(shown.id).not.toBe("");
    expect(whole.id).toBe(shown.id);
    expect(chunks[0]).toMatchObject({ type: "start", messageId: shown.id });
    expect(whole.parts.filter(({ type }) => type === "tool-refund")).toMatchObject([
      { state: "output-available", input: { id: "7" } },
      { state: "output-available", input: { id: "8" } },
    ]);
    expect(whole.parts.at(-1)).toMatchObject({ type: "text", text: "Refunded what was approved." });
  });

  it("that a client sends again after a lost connection return the same continuation", async () => {
    const { desk, model, refunded } = refundDesk(sdk);
    const post = (uiMessages: UIMessage[]) => createAgentUIStreamResponse({ agent: desk.for("a"), uiMessages, ...ids });
    const shown = await messageOf(await post([user]));
    const answered = {
      ...shown,
      parts: shown.parts.map((part) =>
        part.type === "tool-refund" && part.state === "approval-requested"
          ? { ...part, state: "approval-responded", approval: { id: part.approval.id, approved: true } }
          : part,
      ),
    } as UIMessage;
    const first = await chunksOf(await post([user, answered]));
    const second = await chunksOf(await post([user, answered]));
    expect(first.map(({ type }) => type)).toContain("tool-output-available");
    expect(withoutPieces(second)).toEqual(withoutPieces(first));
    expect(refunded.toSorted()).toEqual(["7", "8"]);
    expect(model.asked).toHaveLength(2);
    // A page that has not seen a later run: nothing is begun for it.
    await desk.for("a").generate({ prompt: "Refund 7 and 8 again." });
    await expect(post([user, answered])).rejects.toBeInstanceOf(RequestNotOpenError);
    expect(await desk.agent("a").getRequests()).toHaveLength(2);
    expect(refunded).toHaveLength(2);
  });
});

describe("approvals that the AI SDK 7 decides itself", () => {
  it("open no requests, unlike an approval that a person decides", async () => {
    const sdk = sdks.find(({ version }) => version === 7)!;
    const { tool, ToolLoopAgent } = sdk.ai;
    const model = scriptedModel(
      [["1", "2", "3"].map((id) => calling("find", { id }, `c${id}`)), text("Two are found.")],
      sdk,
    );
    const found: string[] = [];
    const find = tool({
      inputSchema: z.object({ id: z.string() }),
      execute: async ({ id }) => {
        found.push(id);
        return id;
      },
    });
    const statuses = { "1": "approved", "2": "denied", "3": "user-approval" };
    const ofVersion7 = { toolApproval: { find: ({ id }: { id: keyof typeof statuses }) => statuses[id] } };
    const desk = durableAgent(
      { storage: new InMemoryPersistenceStorageProvider() },
      (durable) =>
        new ToolLoopAgent({
          model: durable.model(model),
          tools: durable.tools({ find }),
          ...ofVersion7,
        }),
    );
    await desk.for("a").generate({ prompt: "Find them." });
    const requests = await desk.agent("a").getRequests();
    expect(requests.map((request) => request.kind === "approval" && request.input)).toEqual([{ id: "3" }]);
    await desk.agent("a").answer(requests[0]!.requestId, { approved: true });
    expect((await desk.for("a").resume()).text).toBe("Two are found.");
    expect(found).toEqual(["1", "3"]);
  });
});
