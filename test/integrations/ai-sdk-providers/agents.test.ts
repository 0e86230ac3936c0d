import type { ModelMessage } from "ai";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { type Durable, durableAgent } from "agent-persistence/ai-sdk";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { comparable, withoutIds } from "../ai-sdk-agents/support/comparable.ts";
import { messageOf } from "../ai-sdk-agents/support/uiStream.ts";
import { wholeSoak } from "../../soak/cases.ts";
import { providerCases } from "./providerCases.ts";
import { ProviderServer } from "./ProviderServer.ts";
import { prompt, refundDesk, turns } from "./refundDesk.ts";

const bare: Pick<Durable, "model" | "tools"> = { model: (model) => model, tools: (tools) => tools };

/** What a caller and a client see, without ids. A recorded text comes in other pieces, so that a stream counts as its message. */
async function seen(result: unknown): Promise<unknown> {
  const given = result as {
    readonly steps: unknown;
    readonly totalUsage: unknown;
    readonly output: unknown;
    toUIMessageStreamResponse?(): Response;
  };
  const response = given.toUIMessageStreamResponse?.();
  const message = response && withoutIds(await messageOf(response));
  const { steps, totalUsage, output } = given;
  return { message, result: await comparable({ steps, totalUsage, output }) };
}

describe.each(providerCases)("a durable agent of the AI SDK $version with $name", ({ sdk, wire }) => {
  it.each(["generate", "stream"] as const)(
    "shows and sends the same as without the library in %s, and replays it without requests",
    async (how) => {
      const both = [];
      for (const durable of [false, true]) {
        await using server = await ProviderServer.start(wire, turns);
        const agent = refundDesk({ sdk, wire, url: server.url, refund: () => undefined });
        const desk = durableAgent({ storage: new InMemoryPersistenceStorageProvider() }, agent);
        const asked = durable ? desk.for("a") : agent(bare);
        const result = await seen(await asked[how]({ prompt }));
        both.push({ result, requests: withoutIds(server.requests) });
        if (!durable) continue;
        const replayed = how === "stream" ? await desk.for("a").resumeStream() : await desk.for("a").resume();
        expect(await seen(replayed)).toEqual(result);
        expect(server.requests).toHaveLength(turns.length);
      }
      expect(both[1]).toEqual(both[0]);
    },
  );

  it("requests approvals, and another process continues from the recorded responses", async () => {
    const sent = [];
    for (const durable of [false, true]) {
      await using server = await ProviderServer.start(wire, turns);
      const refunded: string[] = [];
      const agent = () =>
        refundDesk({ sdk, wire, url: server.url, needsApproval: true, refund: (id) => void refunded.push(id) });
      if (durable) {
        const storage = new InMemoryPersistenceStorageProvider();
        await durableAgent({ storage }, agent()).for("a").generate({ prompt });
        const later = durableAgent({ storage }, agent());
        for (const { requestId } of await later.agent("a").getRequests())
          await later.agent("a").answer(requestId, { approved: true });
        expect((await later.for("a").resume()).text).toBe("Both are refunded.");
      } else {
        const first = await agent()(bare).generate({ prompt });
        await agent()(bare).generate({ messages: approvedAfter(first) });
      }
      expect(refunded).toEqual(["7", "8"]);
      sent.push(withoutIds(server.requests));
    }
    expect(sent[1]).toEqual(sent[0]);
  });

  it.each(["generate", "stream"] as const)("continues after a crash at any append of %s", async (how) => {
    await using server = await ProviderServer.start(wire, turns);
    let crashed = true;
    for (let appends = 0; crashed; appends += wholeSoak ? 1 : 3) {
      const storage = new InMemoryPersistenceStorageProvider();
      const refunds = new Map<string, string>();
      const agent = refundDesk({ sdk, wire, url: server.url, refund: (id, key) => refunds.set(key, id) });
      const first = durableAgent({ storage: crashAfter(storage, appends) }, agent).for("a", { runId: "r" });
      crashed = await textOf(first, how).then(
        () => false,
        () => true,
      );
      const second = durableAgent({ storage }, agent).for("a", { runId: "r" });
      expect(await textOf(second, how)).toBe("Both are refunded.");
      expect([...refunds.values()].toSorted()).toEqual(["7", "8"]);
    }
    const last = server.requests.filter((body) => wire.resultsIn(body) === 3).map(withoutIds);
    expect(new Set(last.map((body) => JSON.stringify(body))).size).toBe(1);
  });
});

interface Asked {
  generate(call: { prompt: string }): PromiseLike<{ readonly text: string }>;
  stream(call: { prompt: string }): PromiseLike<{ readonly text: PromiseLike<string> }>;
}

async function textOf(agent: Asked, how: "generate" | "stream"): Promise<string> {
  return how === "generate" ? (await agent.generate({ prompt })).text : (await agent.stream({ prompt })).text;
}

/** The messages of a run that wants approvals, all of which are given. */
function approvedAfter(result: {
  readonly response: { readonly messages: readonly ModelMessage[] };
  readonly responseMessages?: readonly ModelMessage[];
}) {
  // Version 7 has the messages of all steps there.
  const messages = result.responseMessages ?? result.response.messages;
  const wanted = messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.filter((part) => part.type === "tool-approval-request"),
  );
  const content = wanted.map(({ approvalId }) => ({
    type: "tool-approval-response" as const,
    approvalId,
    approved: true,
  }));
  return [{ role: "user" as const, content: prompt }, ...messages, { role: "tool" as const, content }];
}
