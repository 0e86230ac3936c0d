import {
  AIAgent,
  type AnyTool,
  Persistence,
  type PersistenceStorageProvider,
  type PromptExecutor,
  type TrimmingPolicy,
  triggers,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { z } from "zod";
import { durableAgent, type DurableOptions } from "../../support/durableAgent.ts";
import { linesStrategy } from "./linesGraph.ts";
import { comparable, digest, type LinesWorld } from "./LinesWorld.ts";
import type { CalledAgent } from "./performAct.ts";

/** The agent of a random run as one process builds it, with the agents that it calls. */
export function linesAgent(
  world: LinesWorld,
  storage: PersistenceStorageProvider,
  options: Pick<DurableOptions, "clock" | "onEvent"> = {},
): AIAgent<string, string> {
  const { body, automatic, triggers: hasTriggers, settledBy, trims } = world.lines;
  const workspace = world.folder === undefined ? undefined : new Workspace({ root: world.folder });
  const files = workspace?.tools ?? [];
  const { byCode, byModel } = calledAgents(world, files);
  // Other triggers replace the one that saves after each node.
  const actor = { name: "", agents: byCode, writes: writerIn(files), saves: automatic && !hasTriggers, isSeen: false };
  return durableAgent(linesStrategy(world, actor, body), storage, {
    automatic,
    tools: [world.book, world.pay, world.ship, ...files, ...byCode, ...byModel],
    ...(workspace && { participants: [workspace] }),
    ...(trims && { trimming }),
    registry: world.registry,
    maxIterations: 10_000,
    model: modelWith(byModel),
    clock: world.clock,
    ...(settledBy === "handler" && { onToolCallInDoubt: (call) => world.settle(call) }),
    ...(hasTriggers && {
      triggers: [triggers.afterUserInteraction(), triggers.contextDelta({ bytes: 200 }), world.moody],
    }),
    ...options,
  });
}

/** What is left of a history follows from the history alone. */
const trimming: TrimmingPolicy = {
  toolOutputs: 2,
  messages: 6,
  summarize: (older) => `summary ${digest(comparable(older))}`,
};

const writerIn = (files: readonly AnyTool[]): AnyTool | undefined => files.find(({ name }) => name === "write_file");

interface CalledAgents {
  readonly byCode: readonly CalledAgent[];
  readonly byModel: readonly CalledAgent[];
}

/** Each calls those after it, so that no chain of calls is endless. */
function calledAgents(world: LinesWorld, files: readonly AnyTool[]): CalledAgents {
  return world.lines.agents.reduceRight<CalledAgents>(
    (after, _body, at) => ({
      byCode: [calledAgent(world, at, { ...after, files, isSeen: false }), ...after.byCode],
      byModel: [
        calledAgent(world, at, { byCode: after.byModel, byModel: after.byModel, files, isSeen: true }),
        ...after.byModel,
      ],
    }),
    { byCode: [], byModel: [] },
  );
}

function calledAgent(
  world: LinesWorld,
  at: number,
  { byCode, byModel, files, isSeen }: CalledAgents & { readonly files: readonly AnyTool[]; readonly isSeen: boolean },
): CalledAgent {
  const { agents, agentsAutomatic, triggers: hasTriggers, settledBy } = world.lines;
  const name = `${isSeen ? "seen" : "agent"}${at}`;
  const saves = agentsAutomatic && !hasTriggers;
  const actor = { name: `${name} `, agents: byCode, writes: writerIn(files), saves, isSeen };
  const agent = new AIAgent({
    llmModel: "scripted",
    promptExecutor: modelWith(byModel),
    strategy: linesStrategy(world, actor, agents[at] ?? []),
    tools: [world.book, world.pay, world.ship, ...files, ...new Set([...byCode, ...byModel])],
    maxIterations: 10_000,
  }).install(Persistence, {
    enableAutomaticPersistence: agentsAutomatic,
    rollbackToolRegistry: world.registry,
    inverseRetry: { delayMs: 0 },
    ...(hasTriggers && { triggers: [world.moody] }),
    ...(settledBy === "handler" && { onToolCallInDoubt: (call) => world.settle(call) }),
  });
  return agent.asTool({
    name,
    description: "",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
    needsApproval: ({ topic }) => topic < "3" && world.question(`Call ${name} with ${topic}?`),
  });
}

/** A model that calls tools whenever it is asked. */
function modelWith([agent]: readonly CalledAgent[]): PromptExecutor {
  return {
    execute(request) {
      const seen = digest(comparable(request.messages));
      const calls = ["book", "pay", "ship"].map((toolName) => ({
        toolName,
        input: { item: `${toolName} of the model ${seen}` },
      }));
      const consults = agent ? [{ toolName: agent.name, input: { topic: digest("model", seen) } }] : [];
      return scriptedModel([{ toolCalls: [...calls, ...consults] }]).execute({ ...request, messages: [] });
    },
  };
}
