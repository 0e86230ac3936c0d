import { AIAgent } from "../../src/agent/AIAgent.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";

const nodes = 20;

/** Runs another agent to its end: code that should wait for this, and does not, gets ahead of it. */
export async function otherRun(): Promise<void> {
  const graph = strategy<number, number>("count", (g) => {
    const count = g.node("count", (at: number) => at + 1);
    g.edge(g.start, count);
    g.edge(count, count, { when: (at) => at < nodes });
    g.edge(count, g.finish);
  });
  await new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: graph }).run(0);
}
