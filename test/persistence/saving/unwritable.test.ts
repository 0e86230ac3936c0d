import { persistence, strategy, type AgentContext } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

type Wrong = (context: AgentContext & Record<string, (...given: unknown[]) => unknown>) => unknown;

const wrong: readonly (readonly [string, Wrong])[] = [
  ["progress that is not a number", (context) => context.setProgress(null as never)],
  ["a summary that is not text", (context) => context.setProgress(5, 7 as never)],
  ["a decision that is not text", (context) => context.recordDecision({ decision: 5 } as never)],
  ["a decision that is not an object", (context) => context.recordDecision("x" as never)],
  [
    "a request whose id is not text",
    (context) => context.requestInput({ id: 7, prompt: "p", schema: z.string() } as never),
  ],
  ["a request without a schema", (context) => context.requestInput({ prompt: "p" } as never)],
  [
    "a request that expires at no time",
    (context) => context.requestInput({ prompt: "p", schema: z.string(), expiresAt: new Date(NaN) }),
  ],
  [
    "a checkpoint id that is not text",
    (context) => persistence(context).createCheckpoint({ checkpointId: 7 } as never),
  ],
  ["a storage key without a name", (context) => context.storage.set({ name: 7, schema: z.number() } as never, 1)],
  ["a tool that is only its name", (context) => context.tools.call("tool" as never, {} as never)],
];

describe.each(logStorages)("unreadable values, on storage in $name", ({ open }) => {
  it.each(wrong)("are not written: %s", async (_name, use) => {
    const opened = await open();
    const graph = strategy<string, string>("s", (s) => {
      const node = s.node("node", async (text: string, context) => {
        await use(context as never);
        return text;
      });
      s.edge(s.start, node);
      s.edge(node, s.finish);
    });
    const error: unknown = await durableAgent(graph, opened())
      .run("x")
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    const durable = persistence(durableAgent(graph, opened())).agent();
    expect((await durable.getCheckpoints()).map(({ nodeId }) => nodeId)).toEqual(["node"]);
    expect(await durable.validateCheckpoint()).toMatchObject({ valid: true });
  });

  it.each([
    ["a stack that is a number", Object.assign(new Error("x"), { stack: 5 })],
    ["no prototype", Object.create(null) as unknown],
    [
      "a message that throws",
      Object.defineProperty(new Error(""), "message", {
        get: () => {
          throw new Error("hostile");
        },
      }),
    ],
  ])("in an error with %s are recorded as a failure", async (_name, thrown) => {
    const opened = await open();
    const graph = strategy<string, string>("s", (s) => {
      const node = s.node("node", async (): Promise<string> => Promise.reject(thrown as Error));
      s.edge(s.start, node);
      s.edge(node, s.finish);
    });
    const error: unknown = await durableAgent(graph, opened())
      .run("x")
      .catch((reason: unknown) => reason);
    expect(error === thrown).toBe(true);
    const found = [];
    for await (const { status } of persistence(durableAgent(graph, opened())).unfinished({ includeFailed: true }))
      found.push(status);
    expect(found).toEqual(["failed"]);
  });

  it("as the strategy of a rollback are refused", async () => {
    const opened = await open();
    const graph = strategy<string, string>("s", (s) => s.edge(s.start, s.finish));
    const agent = durableAgent(graph, opened());
    await agent.run("x");
    await expect(
      persistence(agent)
        .agent()
        .rollbackToLatestCheckpoint({ rollbackStrategy: "history" as never }),
    ).rejects.toMatchObject({ code: "invalid_input" });
  });
});
