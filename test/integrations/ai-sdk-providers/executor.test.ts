import { InMemoryPersistenceStorageProvider, Persistence } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { withoutIds } from "../ai-sdk-agents/support/comparable.ts";
import { wholeSoak } from "../../soak/cases.ts";
import { providerCases } from "./providerCases.ts";
import { ProviderServer } from "./ProviderServer.ts";
import { prompt, refundAgent, refundDesk, turns } from "./refundDesk.ts";
import type { Wire, WireBody } from "./wire/Wire.ts";

/** The provider runs no tool: an executor offers its own tools alone. */
const ownTurns = turns.map(({ hosted: _hosted, ...turn }) => turn);

/** The conversation in a request. */
function conversationIn(body: WireBody): unknown {
  return withoutIds(body["input"] ?? body["messages"] ?? body["contents"]);
}

describe.each(providerCases)("an AIAgent on $name of the AI SDK $version", ({ sdk, wire }) => {
  const agentOn = (url: string, refunds = new Map<string, string>()) =>
    refundAgent({ sdk, wire, url, refund: (id, key) => refunds.set(key, id) });

  it.each([false, true])("sends the conversation that the AI SDK sends (streamed: %s)", async (streamed) => {
    await using server = await ProviderServer.start(wire, ownTurns);
    const withoutHosted: Wire = { ...wire, hostedTools: () => ({}) };
    const bare = refundDesk({ sdk, wire: withoutHosted, url: server.url, refund: () => undefined });
    const agent = bare({ model: (model) => model, tools: (tools) => tools });
    if (streamed) await (await agent.stream({ prompt })).consumeStream();
    else await agent.generate({ prompt });
    const expected = server.requests.splice(0).map(conversationIn);
    let said = "";
    const onDelta = (delta: { readonly type: string; readonly text?: string }) => void (said += delta.text ?? "");
    const result = await agentOn(server.url).run(prompt, streamed ? { onDelta } : {});
    expect(result).toMatchObject({ status: "completed", output: "Both are refunded." });
    expect(result.usage).toMatchObject({ inputTokens: expect.any(Number) as unknown, outputTokens: 27 });
    expect(server.requests.map(conversationIn)).toEqual(expected);
    if (streamed) expect(said).toContain("Both are refunded.");
  });

  it("continues after a crash at any append", async () => {
    await using server = await ProviderServer.start(wire, ownTurns);
    let crashed = true;
    for (let appends = 0; crashed; appends += wholeSoak ? 1 : 3) {
      const storage = new InMemoryPersistenceStorageProvider();
      const refunds = new Map<string, string>();
      const run = { agentId: "a", runId: "r", onDelta: () => undefined };
      const first = agentOn(server.url, refunds).install(Persistence, { storage: crashAfter(storage, appends) });
      crashed = await first.run(prompt, run).then(
        () => false,
        () => true,
      );
      const second = agentOn(server.url, refunds).install(Persistence, { storage });
      expect(await second.run(prompt, run)).toMatchObject({ output: "Both are refunded." });
      expect([...refunds.values()].toSorted()).toEqual(["7", "8"]);
    }
    const last = server.requests.filter((body) => wire.resultsIn(body) === 3).map(conversationIn);
    expect(new Set(last.map((conversation) => JSON.stringify(conversation))).size).toBe(1);
  });
});
