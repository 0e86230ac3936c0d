import { AIAgent, Persistence, strategy, tool, type PromptExecutor } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { z } from "zod";
import { Floor } from "../measure/Floor.ts";
import { median } from "../measure/statistics.ts";
import { StepTimes } from "../measure/StepTimes.ts";

/** What journaling adds to a call with a side effect, in floors. */
export interface CallFigures {
  /** To a call that is made alone. */
  readonly alone: number;
  /** To each of several that are made at once, as those of one answer of the model are. */
  readonly together: number;
}

/** How many are made at once. */
export const atOnce = 8;

const rounds = 300;
/** The first rounds compile the code and are thrown away. */
const warmUp = 100;
/** In each round a step without calls, one with one, one with several: what the steps differ by is the price of the calls. */
const counts = [0, 1, atOnce];
/** About what is appended of a call. */
const line = "x".repeat(400);

/** Intent and outcome of calls whose tool does nothing, on files. */
export async function calls(directory: string): Promise<CallFigures> {
  const floor = await Floor.at(join(directory, "floor"));
  const times = new StepTimes();
  const storage = new FilePersistenceStorageProvider({ directory: join(directory, "data") });
  times.leave();
  await callingAgent(storage, times, floor).run(0, { agentId: "bench" });
  times.enter();
  await storage.log.close();
  await floor.close();
  // The first time is that of starting up.
  const steps = times.saves.slice(1 + warmUp * counts.length);
  const [none = 0, one = 0, several = 0] = counts.map((_, at) =>
    median(steps.filter((_time, step) => step % counts.length === at)),
  );
  const floorMs = median(floor.times.slice(warmUp * counts.length));
  return { alone: (one - none) / floorMs, together: (several - none) / atOnce / floorMs };
}

function callingAgent(
  storage: FilePersistenceStorageProvider,
  times: StepTimes,
  floor: Floor,
): AIAgent<number, number> {
  const act = tool({
    name: "act",
    description: "",
    inputSchema: z.object({ item: z.string() }),
    effect: "irreversible",
    execute: ({ item }) => ({ done: item }),
  });
  const calling = strategy<number, number>("calling", (graph) => {
    const step = graph.node("step", async (number: number, context) => {
      times.enter();
      await floor.write(line);
      times.leave();
      const items = Array.from({ length: counts[number % counts.length] ?? 0 }, (_, at) => `item ${number} ${at}`);
      await Promise.all(items.map((item) => context.tools.call(act, { item })));
      return number + 1;
    });
    graph.edge(graph.start, step);
    graph.edge(step, step, { when: (number) => number < rounds * counts.length });
    graph.edge(step, graph.finish, { when: (number) => number >= rounds * counts.length });
  });
  return new AIAgent({
    promptExecutor: noModel,
    llmModel: "none",
    strategy: calling,
    tools: [act],
    maxIterations: rounds * counts.length + 10,
  }).install(Persistence, { storage });
}

const noModel: PromptExecutor = {
  execute: () => Promise.reject(new Error("The benchmark asks no model.")),
};
