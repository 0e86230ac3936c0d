import type { UIMessage } from "ai";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { withoutIds } from "./support/comparable.ts";
import { Gate } from "./support/gate.ts";
import { calling, type ScriptedModel, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";
import { messageOf } from "./support/uiStream.ts";

type Phase = "before the first response" | "during a response" | "during a tool call";

/** A chat server, of which each process has one on the same storage. It stops at a gate in one phase of a run. */
function chatServer(sdk: Sdk, storage: InMemoryPersistenceStorageProvider, held?: { phase: Phase; gate: Gate }) {
  const { createAgentUIStreamResponse, tool, ToolLoopAgent } = sdk.ai;
  const at = async (phase: Phase) => void (held?.phase === phase && (await held.gate.pass()));
  const find = tool({
    inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }) => {
      await at("during a tool call");
      return { id, cents: 900 };
    },
  });
  const refund = tool({
    inputSchema: z.object({ id: z.string() }),
    needsApproval: true,
    execute: async ({ id }) => `refunded ${id}`,
  });
  const model = heldModel(
    scriptedModel(
      [
        [...text("I look for it."), calling("find", { id: "7" })],
        [...text("It costs 9."), calling("refund", { id: "7" })],
        text("It is refunded."),
      ],
      sdk,
    ),
    at,
  );
  const desk = durableAgent(
    { storage },
    (durable) => new ToolLoopAgent({ id: "desk", model: durable.model(model), tools: durable.tools({ find, refund }) }),
  );
  const ids = { generateMessageId: () => "m1" };
  return {
    desk,
    asked: model.asked,
    post: (uiMessages: UIMessage[]) => createAgentUIStreamResponse({ agent: desk.for("a"), uiMessages, ...ids }),
    get: async () => (await desk.for("a").attach())?.toUIMessageStreamResponse(ids),
  };
}

function heldModel(model: ScriptedModel, at: (phase: Phase) => Promise<void>): ScriptedModel {
  return {
    ...model,
    doStream: async (options) => {
      await at("before the first response");
      const { stream } = await model.doStream(options);
      let parts = 0;
      const held = new TransformStream({
        async transform(part, controller) {
          if (++parts === 5) await at("during a response");
          controller.enqueue(part);
        },
      });
      return { stream: stream.pipeThrough(held) };
    },
  };
}

const user: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Refund 7." }] };

async function seen(response: Response | undefined): Promise<unknown> {
  return withoutIds(await messageOf(response!));
}

describe.each(sdks)("a client of a durable agent of the AI SDK $version", (sdk) => {
  it.each<Phase>(["before the first response", "during a response", "during a tool call"])(
    "that leaves %s gets the whole stream when it reconnects to any process",
    async (phase) => {
      const undisturbed = await seen(await chatServer(sdk, new InMemoryPersistenceStorageProvider()).post([user]));
      const storage = new InMemoryPersistenceStorageProvider();
      const gate = new Gate();
      const server = chatServer(sdk, storage, { phase, gate });
      const first = await server.post([user]);
      await gate.reached;
      await first.body?.cancel();
      const [own, elsewhere] = [await server.get(), await chatServer(sdk, storage).get()];
      gate.open();
      expect(await seen(own)).toEqual(undisturbed);
      expect(await seen(elsewhere)).toEqual(undisturbed);
      expect(server.asked).toHaveLength(2);
    },
  );

  it("that reconnects during an approval or after the run gets the recorded stream", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const first = chatServer(sdk, storage);
    const asked = await messageOf(await first.post([user]));
    const second = chatServer(sdk, storage);
    expect(await seen(await first.get())).toEqual(withoutIds(asked));
    expect(await seen(await second.get())).toEqual(withoutIds(asked));
    const approved = withApproval(asked);
    await second.post([user, approved]).then((response) => response.text());
    expect(await second.get()).toBeUndefined();
    const whole = await messageOf((await first.desk.for("a").resumeStream()).toUIMessageStreamResponse());
    expect(whole.parts.at(-1)).toMatchObject({ type: "text", text: "It is refunded." });
    expect(whole.parts.filter(({ type }) => type === "tool-refund")).toMatchObject([{ output: "refunded 7" }]);
    expect([first.asked, second.asked].map(({ length }) => length)).toEqual([2, 1]);
  });

  it("reads the log once at a time, however many calls are in progress", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const gate = new Gate();
    const find = sdk.ai.tool({ inputSchema: z.object({}), execute: () => gate.pass().then(() => "found") });
    const calls = ["1", "2", "3"].map((id) => calling("find", {}, id));
    const model = scriptedModel([calls, text("Done.")], sdk);
    const server = () =>
      durableAgent(
        { storage },
        (durable) => new sdk.ai.ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ find }) }),
      );
    await server().for("a").stream({ prompt: "Find it." });
    await gate.reached;
    const reads = countReads(storage);
    const attached = await server().for("a").attach();
    const shown = attached!.text;
    await vi.waitFor(() => expect(reads.total).toBeGreaterThan(calls.length));
    gate.open();
    expect(await shown).toBe("Done.");
    expect(reads.mostAtOnce).toBe(1);
  });

  it("gets the whole stream from the process that received the approval, as from any other process", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const asked = await messageOf(await chatServer(sdk, storage).post([user]));
    const gate = new Gate();
    const server = chatServer(sdk, storage, { phase: "before the first response", gate });
    const posted = server.post([user, withApproval(asked)]);
    await gate.reached;
    const [own, elsewhere] = [await server.get(), await chatServer(sdk, storage).get()];
    gate.open();
    const whole = await seen(own);
    expect(whole).toEqual(await seen(elsewhere));
    const texts = (whole as UIMessage).parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    expect(texts).toEqual(["I look for it.", "It costs 9.", "It is refunded."]);
    const body = await (await posted).text();
    expect([...body.matchAll(/"type":"text-delta".*?"delta":"([^"]*)"/g)].map(([, part]) => part).join("")).toBe(
      "It is refunded.",
    );
  });
});

function countReads({ log }: InMemoryPersistenceStorageProvider) {
  const reads = { total: 0, mostAtOnce: 0 };
  let open = 0;
  const read = log.read.bind(log);
  log.read = async function* counted(...given) {
    reads.total++;
    reads.mostAtOnce = Math.max(reads.mostAtOnce, ++open);
    await new Promise((resolve) => setImmediate(resolve));
    yield* read(...given);
    open--;
  };
  return reads;
}

function withApproval(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) =>
    part.type === "tool-refund" && part.state === "approval-requested"
      ? { ...part, state: "approval-responded", approval: { id: part.approval.id, approved: true } }
      : part,
  );
  return { ...message, parts } as UIMessage;
}
