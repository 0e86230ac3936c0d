import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import type { AgentInputItem } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { redaction, secret } from "../../../src/encryption.ts";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { durableAgent } from "../../../src/ai-sdk.ts";
import { durableTools, PersistenceSaver } from "../../../src/langgraph.ts";
import { PersistenceSession } from "../../../src/openai-agents.ts";
import { sealed } from "../../../src/seals.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import { testKey } from "../../seals/sealedHarness.ts";
import { calling, scriptedModel, text } from "../../integrations/ai-sdk-agents/support/scriptedModel.ts";
import { type Sdk, sdks } from "../../integrations/ai-sdk-agents/support/sdks.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { storedText } from "../redactedHarness.ts";

const vault = { keys: testKeys("first") };

/** Values that are too short to be found in other texts. */
const input = { card: "C-11", amount: 3 };
const output = { iban: "I-22", receipt: "r-1" };
const found = (text: string) => ["C-11", "I-22"].filter((value) => text.includes(value));

async function storedTexts(storage: InMemoryPersistenceStorageProvider): Promise<string> {
  const ids = (await collect(storage.log.list())).map(({ agentId }) => agentId);
  return (await Promise.all(ids.map((agentId) => storedText(storage, agentId)))).join("\n");
}

describe("rules by the path of a tool", () => {
  const paths = ["charge.input.card", "charge.output.iban"];

  it.each(["arguments and outputs that are JSON", "a text as output"])("match in a session with %s", async (kind) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const redact = redaction({ paths: kind === "a text as output" ? ["charge.output", paths[0] ?? ""] : paths, vault });
    const text = kind === "a text as output" ? "the account I-22" : JSON.stringify(output);
    const items: AgentInputItem[] = [
      { type: "function_call", callId: "1", name: "charge", arguments: JSON.stringify(input) },
      {
        type: "function_call_result",
        callId: "1",
        name: "charge",
        status: "completed",
        output: { type: "text", text },
      },
    ];
    await using session = new PersistenceSession({ storage: redact.storage(storage), sessionId: "s" });
    await session.addItems(items);
    expect(found(await storedTexts(storage))).toEqual([]);
    await using later = new PersistenceSession({ storage: redact.storage(storage), sessionId: "s" });
    expect(await later.getItems()).toEqual(items);
  });

  it.each([
    ["paths", z.object({ card: z.string(), amount: z.number() }), paths],
    ["secret()", z.object({ card: secret(z.string()), amount: z.number() }), paths.slice(1)],
  ])("match in a graph with %s", async (_name, schema, given) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const redact = redaction({ paths: given, vault });
    const graph = (checkpointer: PersistenceSaver) => {
      const charge = tool(() => output, { name: "charge", description: "Charges.", schema });
      return new StateGraph(MessagesAnnotation)
        .addNode("model", () => ({
          messages: [
            new AIMessage({ content: "", tool_calls: [{ type: "tool_call", id: "1", name: "charge", args: input }] }),
          ],
        }))
        .addNode("tools", new ToolNode(durableTools(checkpointer, [charge])))
        .addNode("rename", () => ({
          messages: [new ToolMessage({ content: JSON.stringify(output), tool_call_id: "1" })],
        }))
        .addEdge(START, "model")
        .addEdge("model", "tools")
        .addEdge("tools", "rename")
        .compile({ checkpointer });
    };
    const thread = { configurable: { thread_id: "t" } };
    {
      await using checkpointer = new PersistenceSaver({ storage: redact.storage(storage) });
      await graph(checkpointer).invoke({ messages: [] }, thread);
    }
    expect(found(await storedTexts(storage))).toEqual([]);
    await using checkpointer = new PersistenceSaver({ storage: redact.storage(storage) });
    const { values } = await graph(checkpointer).getState(thread);
    expect(JSON.stringify(values)).toContain(JSON.stringify(JSON.stringify(output)));
    expect(JSON.stringify(values)).toContain(JSON.stringify(input));
  });

  it("match in runs of the AI SDK with secret() and paths", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const redact = redaction({ paths: ["charge.output.iban"], vault });
    const { ai, ...version } = sdks[0] as Sdk;
    const charge = ai.tool({
      inputSchema: z.object({ card: secret(z.string()), amount: z.number() }),
      execute: async () => output,
    });
    const model = scriptedModel([[calling("charge", input)], text("done")], version);
    const agents = durableAgent(
      { storage, redact },
      (durable) => new ai.ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ charge }) }),
    );
    expect((await agents.for("a").generate({ prompt: "Charge." })).text).toBe("done");
    expect(JSON.stringify(model.asked.at(-1))).toContain(output.iban);
    expect(found(await storedTexts(storage))).toEqual([]);
  });
});

describe("secret() in a tool that another tool declares", () => {
  it("is redacted in runs of the AI SDK", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { ai, ...version } = sdks[0] as Sdk;
    const charge = ai.tool({ inputSchema: z.object({ card: secret(z.string()) }), execute: async () => "charged" });
    const inner = scriptedModel([[calling("charge", { card: input.card })], text("paid")], version);
    const outer = scriptedModel([[calling("pay", {})], text("done")], version);
    const agents = durableAgent({ storage, redact: redaction({ vault }) }, (durable) => {
      const pay = ai.tool({
        inputSchema: z.object({}),
        execute: async () => {
          const tools = durable.tools({ charge }, { charge: { effect: "idempotent" } });
          return (await new ai.ToolLoopAgent({ model: durable.model(inner), tools }).generate({ prompt: "Pay." })).text;
        },
      });
      return new ai.ToolLoopAgent({ model: durable.model(outer), tools: durable.tools({ pay }) });
    });
    expect((await agents.for("a").generate({ prompt: "Pay." })).text).toBe("done");
    expect(JSON.stringify(inner.asked.at(-1))).toContain(input.card);
    expect(found(await storedTexts(storage))).toEqual([]);
  });
});

describe("secret() in a tool of a graph", () => {
  it("is refused if another storage wraps the redacted one", () => {
    const storage = sealed(redaction({ vault }).storage(new InMemoryPersistenceStorageProvider()), {
      sign: testKey.sign,
      verify: testKey.verify,
    });
    const schema = z.object({ card: secret(z.string()) });
    const charge = tool(() => output, { name: "charge", description: "Charges.", schema });
    const wrap = () => durableTools(new PersistenceSaver({ storage }), [charge]);
    expect(wrap).toThrow(expect.objectContaining({ code: "not_supported" }));
    expect(wrap).toThrow('secret() of the tool "charge"');
  });
});
