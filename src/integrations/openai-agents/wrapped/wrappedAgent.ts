import { durableModel } from "./durableModel.ts";
import type { DurableRun } from "./DurableRun.ts";
import { wrappedTool } from "./wrappedTool.ts";
import { givenOriginals, noteOriginal, originalOf } from "./originals.ts";
import { unrecorded } from "./runnerConfig.ts";
import type { AnySdkAgent } from "./AnyAgent.ts";

/**
 * Returns an agent whose model, tools, MCP tools and handoff targets are durable. The original agent stays unchanged,
 * and its events, instructions and predicates receive the original.
 */
export function wrappedAgent<Given extends AnySdkAgent>(given: Given, run: DurableRun): Given {
  const agent = originalOf(given);
  const known = run.agents.get(agent);
  if (known) return known as Given;
  const durable = new Proxy(agent, { get: (target, key) => memberOf(target, key, run) });
  run.agents.set(agent, durable);
  noteOriginal(durable, agent);
  return durable;
}

function memberOf(agent: AnySdkAgent, key: string | symbol, run: DurableRun): unknown {
  switch (key) {
    case "model":
      return typeof agent.model === "string" ? agent.model : durableModel(agent.model);
    case "getAllTools":
      return async (...given: Parameters<AnySdkAgent["getAllTools"]>) =>
        (await agent.getAllTools(...given)).map((tool) => wrappedTool(tool, run));
    case "getEnabledHandoffs":
      return async (...given: Parameters<AnySdkAgent["getEnabledHandoffs"]>) =>
        (await agent.getEnabledHandoffs(...given)).map((handoff) =>
          handoff.clone({ agent: wrappedAgent(handoff.agent, run) }),
        );
    case "emit":
      return givenOriginals(agent.emit.bind(agent));
    case "inputGuardrails":
    case "outputGuardrails":
      return agent[key].map(unrecorded);
    default: {
      const value: unknown = Reflect.get(agent, key);
      return typeof value === "function" && !Object.hasOwn(agent, key) ? value.bind(agent) : value;
    }
  }
}
