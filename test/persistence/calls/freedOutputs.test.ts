import { setFlagsFromString } from "node:v8";
import { setImmediate } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  type PromptExecutor,
  strategy,
  tool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const calls = 300;

/** Collects the outputs of a tool, and counts those that are still in memory. */
class Outputs {
  readonly #found: WeakRef<object>[] = [];

  note(output: object): void {
    this.#found.push(new WeakRef(output));
  }

  async alive(): Promise<number> {
    // A reference keeps its object until the end of the turn.
    await setImmediate();
    collectGarbage();
    return this.#found.filter((output) => output.deref() !== undefined).length;
  }
}

const read = tool({
  name: "read",
  description: "",
  inputSchema: z.object({ page: z.number() }),
  execute: ({ page }) => ({ page, text: "x".repeat(1_000) }),
});

it("a node that makes many calls keeps none of their outputs in memory", async () => {
  const outputs = new Outputs();
  let alive = calls;
  const built = strategy<string, string>("reads", (graph) => {
    const node = graph.node("read", async (input: string, { tools }) => {
      for (let page = 0; page < calls; page++) outputs.note(await tools.call(read, { page }));
      alive = await outputs.alive();
      return input;
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  await new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: built, tools: [read] }).run("go");
  expect(alive).toBeLessThan(10);
});

it("a run with a trimmed history keeps few outputs of its calls in memory", async () => {
  const outputs = new Outputs();
  let page = 0;
  let alive = calls;
  // A scripted model counts the messages of the history, which is trimmed here.
  const model: PromptExecutor = {
    async execute({ messages }) {
      const [result] = messages.at(-1)?.content ?? [];
      if (typeof result === "object" && result.type === "tool-result") outputs.note(result.output as object);
      if (page === calls) {
        alive = await outputs.alive();
        return { message: { role: "assistant", content: "done" } };
      }
      page++;
      const call = { type: "tool-call", toolCallId: `call_${page}`, toolName: "read", input: { page } } as const;
      return { message: { role: "assistant", content: [call] } };
    },
  };
  const agent = new AIAgent({ llmModel: "m", promptExecutor: model, tools: [read], maxIterations: Infinity });
  await agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), trimming: {} }).run("go");
  expect(alive).toBeLessThan(calls / 2);
});
