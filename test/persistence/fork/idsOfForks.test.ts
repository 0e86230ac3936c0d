import {
  type AgentContext,
  type AIAgent,
  type AssistantMessage,
  persistence,
  strategy,
  triggers,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asking } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Agent = () => AIAgent<string, string>;

const question = { prompt: "ok?", schema: z.boolean() };

/** The calls of an unknown tool and with a refused input, and one that is made. */
const turns = ["one", "two", "three"].map((item) => ({
  toolCalls: [
    { toolName: "unknown", input: {} },
    { toolName: "book", input: { thing: item } },
    { toolName: "book", input: { item } },
  ],
}));

async function turn({ llm, tools }: AgentContext): Promise<void> {
  const answer = await llm.request();
  llm.append(answer, await tools.execute(answer));
}

describe.each(logStorages)(
  "$name: refused calls get new ids, so later model responses are still replayed, in",
  (storage) => {
    async function waiting(built: Parameters<typeof durableAgent>[0], options = {}) {
      const [world, opened] = [new World(), await storage.open()];
      const tools = [world.adder("book")];
      const agent: Agent = () => durableAgent(built, opened(), { tools, turns, ...options });
      await agent().run("go");
      return { world, agent, durable: persistence(agent()).agent("a") };
    }

    async function end(agent: Agent, agentId: string): Promise<unknown> {
      const requests = await persistence(agent()).agent(agentId).getRequests();
      return agent().resume({
        agentId,
        answers: Object.fromEntries(requests.map(({ requestId }) => [requestId, true])),
      });
    }

    /** The model is asked again after them. */
    const inOneNode = asking(async (_, context) => {
      await turn(context);
      await turn(context);
      const ok = await context.requestInput(question);
      await turn(context);
      return `${ok}`;
    });

    it("a fork and a fork of it", async () => {
      const { world, agent, durable } = await waiting(inOneNode);
      const b = await durable.fork("b");
      await b.fork("c");
      for (const id of ["b", "c", "a"]) expect(await end(agent, id)).toMatchObject({ output: "true" });
      expect(world.items).toEqual(["one", "three", "three", "three", "two"]);
    });

    it("a fork from a checkpoint within the node", async () => {
      const { world, agent, durable } = await waiting(inOneNode, { triggers: [triggers.contextDelta({ bytes: 1 })] });
      const checkpoint = await durable.getLatestCheckpoint();
      const fork = await durable.fork("b", { checkpointId: checkpoint?.checkpointId ?? "none" });
      await agent().resume({ agentId: "b" });
      expect(await end(agent, fork.agentId)).toMatchObject({ output: "true" });
      expect(world.items).toEqual(["one", "three", "two"]);
    });

    it("a fork of a node that executes a message of the previous node", async () => {
      const built = strategy<string, string>("apart", (graph) => {
        const ask = graph.node("ask", async (_: string, { llm }) => {
          const answer = await llm.request();
          llm.append(answer);
          return answer;
        });
        const act = graph.node("act", async (answer: AssistantMessage, context) => {
          context.llm.append(await context.tools.execute(answer));
          await turn(context);
          return `${await context.requestInput(question)}`;
        });
        graph.edge(graph.start, ask);
        graph.edge(ask, act);
        graph.edge(act, graph.finish);
      });
      const { world, agent, durable } = await waiting(built);
      await (await durable.fork("b")).fork("c");
      for (const id of ["b", "c", "a"]) expect(await end(agent, id)).toMatchObject({ output: "true" });
      expect(world.items).toEqual(["one", "two"]);
    });

    it("a sibling of a line that is edited or branched", async () => {
      const built = strategy<string, string>("beside", (graph) => {
        const ask = graph.node("ask", async (_: string, context) => {
          await turn(context);
          await turn(context);
          return `${await context.requestInput(question)}`;
        });
        const work = graph.subgraph<string, string>("work", (inner) => {
          const one = inner.node(
            "one",
            async (_: string, context) => `${await context.requestInput({ ...question, prompt: "one?" })}`,
          );
          const two = inner.node(
            "two",
            async (_: string, context) => `${await context.requestInput({ ...question, prompt: "two?" })}`,
          );
          inner.edge(inner.start, one);
          inner.edge(one, two);
          inner.edge(two, inner.finish);
        });
        const both = graph.parallel("both", { ask, work }, () => "done");
        graph.edge(graph.start, both);
        graph.edge(both, graph.finish);
      });
      const { world, agent, durable } = await waiting(built);
      const one = (await durable.getRequests()).find(({ prompt }) => prompt === "one?")?.requestId ?? "none";
      await agent().resume({ answers: { [one]: true } });
      const two = (await durable.getCheckpoints()).find(({ nodeId }) => nodeId === "work/two")?.checkpointId ?? "none";
      await durable.editCheckpoint(two, { by: "me", reason: "to try", lastInput: "other" });
      expect(await agent().resume()).toMatchObject({ status: "waiting" });
      expect(await agent().resume({ checkpointId: two })).toMatchObject({ status: "waiting" });
      expect(await end(agent, "a")).toMatchObject({ output: "done" });
      expect(world.items).toEqual(["one", "two"]);
    });
  },
);
