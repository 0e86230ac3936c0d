import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { type Durable, durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { comparable } from "./support/comparable.ts";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { sdks } from "./support/sdks.ts";

describe.each(sdks)("an approval requested by a provider of the AI SDK $version", (sdk) => {
  it("is left to the provider: the run ends, and the next run sends the answer", async () => {
    const model = scriptedModel(
      [
        [
          { ...calling("mcp.delete", { id: "7" }, "srv_1"), providerExecuted: true, dynamic: true } as never,
          { type: "tool-approval-request", approvalId: "mcpr_1", toolCallId: "srv_1" },
        ],
        text("It is deleted."),
      ],
      sdk,
    );
    const define = (wraps: Pick<Durable, "model">) => new sdk.ai.ToolLoopAgent({ model: wraps.model(model) });
    const desk = durableAgent({ storage: new InMemoryPersistenceStorageProvider() }, define);
    const chat = async (agent: Pick<ReturnType<typeof define>, "generate">) => {
      const first = await agent.generate({ prompt: "Delete 7." });
      const approval = { type: "tool-approval-response" as const, approvalId: "mcpr_1", approved: true };
      const messages = [
        { role: "user" as const, content: "Delete 7." },
        ...first.response.messages,
        { role: "tool" as const, content: [{ ...approval, providerExecuted: true }] },
      ];
      return [await comparable(first), await comparable(await agent.generate({ messages }))];
    };
    const bare = await chat(define({ model: (given) => given }));
    expect(await chat(desk.for("a"))).toEqual(bare);
    expect(await desk.agent("a").getRequests()).toEqual([]);
    const [told, toldByUs] = [model.asked[1], model.asked[3]].map((asked) => JSON.stringify(asked?.prompt));
    expect(toldByUs).toEqual(told);
    expect(told).toContain("mcpr_1");
  });
});
