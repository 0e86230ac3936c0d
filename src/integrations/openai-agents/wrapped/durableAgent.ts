import { durableModel } from "./durableModel.ts";
import type { DurableRun } from "./DurableRun.ts";
import { durableTool } from "./durableTool.ts";
import { givenOriginals, noteOriginal, originalOf } from "./originals.ts";
import { unrecorded } from "./runnerConfig.ts";
import type { AnyAgent } from "./AnyAgent.ts";

/**
 * Returns an agent whose model, tools, MCP tools and handoff targets are durable. The original agent is unchanged. Its
 * events, instructions and predicates receive the original.
 */
export function durableAgent<Given extends AnyAgent>(given: Given, run: DurableRun): Given {
  const agent = originalOf(given);
  const known = run.agents.get(agent);
  if (known) return known as Given;
  const durable = new Proxy(agent, { get: (target, key) => memberOf(target, key, run) });
  run.agents.set(agent, durable);
  noteOriginal(durable, agent);
  return durable;
}

function memberOf(agent: AnyAgent, key: string | symbol, run: DurableRun): unknown {
  switch (key) {
    case "model":
      return typeof agent.model === "string" ? agent.model : durableModel(agent.model);
    case "getAllTools":
      return async (...given: Parameters<AnyAgent["getAllTools"]>) =>
        (await agent.getAllTools(...given)).map((tool) => durableTool(tool, run));
    case "getEnabledHandoffs":
      return async (...given: Parameters<AnyAgent["getEnabledHandoffs"]>) =>
        (await agent.getEnabledHandoffs(...given)).map((handoff) =>
          handoff.clone({ agent: durableAgent(handoff.agent, run) }),
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
