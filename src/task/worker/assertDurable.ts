import { AIAgent } from "../../agent/AIAgent.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import { persistence } from "../../persistence/Persistence.ts";
import type { TaskWorkerOptions } from "./TaskWorkerOptions.ts";

/** @throws FeatureNotInstalledError for an agent without Persistence, which it names. */
export function assertDurable(agents: TaskWorkerOptions["agents"]): void {
  const named: readonly (readonly [string, AIAgent<never, unknown>])[] =
    agents instanceof AIAgent
      ? [["The agent", agents]]
      : Object.entries(agents).map(([name, agent]) => [`The agent ${JSON.stringify(name)}`, agent]);
  for (const [name, agent] of named) {
    try {
      persistence(agent);
    } catch (error) {
      if (!(error instanceof FeatureNotInstalledError)) throw error;
      throw new FeatureNotInstalledError(error.feature, `${name} of the worker`);
    }
  }
}
