import { AIAgent, type AgentContext, Persistence, persistence, strategy, tool } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { logStorages } from "../support/storages.ts";

/** A call that reports that it started, and never ends. */
function endless() {
  let start: () => void = () => undefined;
  const started = new Promise<void>((resolve) => (start = resolve));
  const call = () => {
    start();
    return new Promise<never>(() => undefined);
  };
  return { call, started };
}

const kinds = ["probe", "handler", "plan", "apply"] as const;

it.each(logStorages.flatMap((storage) => kinds.map((kind) => ({ ...storage, kind }))))(
  "$name: an abort ends a rollback inside a run whose $kind ignores the signal",
  async ({ open, kind }) => {
    const opened = await open();
    const { call, started } = endless();
    const hanging = endless();
    const add = tool({
      name: "add",
      description: "",
      inputSchema: z.object({}),
      execute: hanging.call,
      ...(kind === "probe" && { probe: call }),
    });
    const participant = {
      key: "x",
      tools: [],
      plan: kind === "plan" ? call : async () => ({ steps: [1] }),
      apply: kind === "apply" ? call : async () => 1,
      describe: () => ({ subject: "x", change: "y" }),
    };
    const built = strategy<string, string>("s", (graph) => {
      const first = graph.node("first", async (text: string) => text);
      const second = graph.node("second", async (text: string, context: AgentContext) => {
        persistence(context).note({ key: "x", value: 1 });
        if (kind === "probe" || kind === "handler") {
          void context.tools.call(add, {}).catch(() => undefined);
          await hanging.started;
        }
        const [start] = await persistence(agent).agent("a").getCheckpoints();
        await persistence(context).rollbackToCheckpoint(start?.checkpointId ?? "none");
        return text;
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const options = { id: "a", llmModel: "m", promptExecutor: scriptedModel([]), strategy: built, tools: [add] };
    const agent: AIAgent<string, string> = new AIAgent(options).install(Persistence, {
      storage: opened(),
      abortGraceMs: 1,
      participants: [participant],
      ...(kind === "handler" && { onToolCallInDoubt: call }),
    });
    const stop = new AbortController();
    const run = agent.run("go", { signal: stop.signal });
    await Promise.race([started, run]);
    stop.abort(new Error("stopped"));
    await expect(run).rejects.toThrow("stopped");
  },
);
