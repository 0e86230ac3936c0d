import {
  AIAgent,
  Persistence,
  strategy,
  type PersistenceStorageProvider,
  type PromptExecutor,
} from "agent-persistence";
import type { Floor } from "../Floor.ts";
import { messageOf } from "../message.ts";
import type { StepTimes } from "../StepTimes.ts";

export interface LoopOptions {
  /** The node throws when it is asked for the step after this one, unless `finishes`. */
  readonly steps: number;
  readonly finishes: boolean;
  /** How many of the first steps append a message; absent: all. */
  readonly messages?: number;
  readonly times?: StepTimes;
  readonly floor?: Floor;
  /** Called at the start of a step. */
  readonly onStep?: () => void;
}

export class EndOfLoop extends Error {}

/** An agent whose only node appends one message a step, with a checkpoint after each. */
export function loopingAgent(
  storage: PersistenceStorageProvider<never>,
  options: LoopOptions,
): AIAgent<number, number> {
  const { steps, finishes, messages = steps, times, floor, onStep } = options;
  const looping = strategy<number, number>("looping", (graph) => {
    const append = graph.node("append", async (step: number, context) => {
      times?.enter();
      onStep?.();
      if (step > steps) throw new EndOfLoop();
      const message = messageOf(step);
      await floor?.write(JSON.stringify(message));
      if (step <= messages) context.llm.append(message);
      times?.leave();
      return step;
    });
    graph.edge(graph.start, append);
    graph.edge(append, append, { when: (step) => step < steps || !finishes, map: (step) => step + 1 });
    graph.edge(append, graph.finish, { when: (step) => step >= steps && finishes });
  });
  return new AIAgent({
    promptExecutor: noModel,
    llmModel: "none",
    strategy: looping,
    maxIterations: steps + 10,
  }).install(Persistence, { storage });
}

const noModel: PromptExecutor = {
  execute: () => Promise.reject(new Error("The benchmark asks no model.")),
};
