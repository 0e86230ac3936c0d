import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type OpenAIResponsesCompactionOwnershipAwareSession,
  RequestUsage,
  run,
  type Session,
  tool,
} from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner } from "../../../src/openai-agents.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";
import { FileSession } from "./FileSession.ts";

const asked = (text: string): AgentInputItem => ({ role: "user", content: text });

/** Refunds one order after an approval. The model has a failure to come, if one is set. */
function desk() {
  const state: { failure?: Error | undefined } = {};
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ id: z.string() }),
    needsApproval: true,
    execute: ({ id }) => `refunded ${id}`,
  });
  const model = new FakeModel((items) => {
    if (state.failure) return state.failure;
    const results = resultsIn(items);
    return results.length === 0 ? [calls("refund", { id: "7" })] : [says(results.join())];
  });
  const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
  return { state, model, runner, agent: new Agent({ name: "desk", model, tools: [refund] }) };
}

async function approve({ runner }: ReturnType<typeof desk>): Promise<void> {
  const [request] = await runner.agent("a").getRequests();
  await runner.agent("a").answer(request?.requestId ?? "", { approved: true });
}

const kindsIn = async (session: Session) => (await session.getItems()).map((item) => item.type ?? "message");
const providedIdsIn = async (session: Session) =>
  (await session.getItems()).flatMap((item) => ("callId" in item ? [item.callId] : []));
const whole = ["message", "message", "function_call", "function_call_result", "message"];

/** A session that replaces its items by one, as those do that ask the provider for a summary. */
class CompactingSession extends MemorySession implements OpenAIResponsesCompactionOwnershipAwareSession {
  readonly #receipt = {};
  compactions = 0;

  async getItemsWithCompactionOwnership() {
    return { items: await this.getItems(), ownership: this.#receipt };
  }

  async addItemsWithCompactionOwnership(items: AgentInputItem[]) {
    await this.addItems(items);
  }

  async runCompaction() {
    this.compactions++;
    const items = await this.getItems();
    await this.clearSession();
    await this.addItems([asked(`${items.length} items`)]);
    return { usage: new RequestUsage({ inputTokens: 3 }) };
  }
}

describe("a session of another kind, in a repeated run", () => {
  it.each([
    ["with transactions", async () => new MemorySession()],
    ["without transactions", async () => new FileSession(`${await temporaryDirectory()}/talk`)],
  ])("gets the items of the run once: one %s", async (_kind, open) => {
    const session = await open();
    await session.addItems([asked("Before.")]);
    const own = desk();
    const { runner, agent, state } = own;
    await runner.run(agent, "Refund.", { agentId: "a", session });
    await runner.resume(agent, { agentId: "a", session });
    await approve(own);
    state.failure = new Error("overloaded");
    await expect(runner.resume(agent, { agentId: "a", session })).rejects.toThrow("overloaded");
    state.failure = undefined;
    const { finalOutput } = await runner.resume(agent, { agentId: "a", session });
    expect(finalOutput).toBe("refunded 7");
    expect(await kindsIn(session)).toEqual(whole);
    expect(await providedIdsIn(session)).toEqual(["call_1", "call_1"]);
    await runner.resume(agent, { agentId: "a", session });
    expect(await kindsIn(session)).toEqual(whole);
  });

  it("provides the items of the first read, whatever others have added since", async () => {
    const session = new MemorySession();
    await session.addItems([asked("Before.")]);
    const own = desk();
    const { runner, agent, state, model } = own;
    state.failure = new Error("overloaded");
    await expect(runner.run(agent, "Refund.", { agentId: "a", session })).rejects.toThrow("overloaded");
    await session.addItems([asked("Meanwhile.")]);
    state.failure = undefined;
    await runner.resume(agent, { agentId: "a", session });
    expect(model.requests.at(-1)?.input).toEqual([asked("Before."), { type: "message", ...asked("Refund.") }]);
  });

  it("is read again after a failed read", async () => {
    const session = new MemorySession();
    let isDown = true;
    const reset = new Error("connection reset");
    session.getItems = async (...limit) => {
      if (isDown) throw reset;
      return MemorySession.prototype.getItems.apply(session, limit);
    };
    const own = desk();
    const { runner, agent } = own;
    await expect(runner.run(agent, "Refund.", { agentId: "a", session })).rejects.toBe(reset);
    isDown = false;
    const { interruptions } = await runner.resume(agent, { agentId: "a", session });
    expect(interruptions).toHaveLength(1);
  });

  it("is compacted as often as by the SDK alone and keeps later items", async () => {
    const alone = new CompactingSession();
    const { agent: same } = desk();
    const { state, interruptions } = await run(same, "Refund.", { session: alone });
    for (const each of interruptions) state.approve(each);
    await run(same, state, { session: alone });

    const session = new CompactingSession();
    const own = desk();
    const { runner, agent } = own;
    await runner.run(agent, "Refund.", { agentId: "a", session });
    await approve(own);
    const resumed = await runner.resume(agent, { agentId: "a", session });
    expect(resumed.finalOutput).toBe("refunded 7");
    const seen = async (each: CompactingSession) => [each.compactions, await each.getItems()];
    expect(await seen(session)).toEqual(await seen(alone));
    const again = await runner.resume(agent, { agentId: "a", session });
    expect(await seen(session)).toEqual(await seen(alone));
    expect(again.state.usage.inputTokens).toBe(resumed.state.usage.inputTokens);
  });
});
