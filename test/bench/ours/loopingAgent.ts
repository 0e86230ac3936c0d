import {
  AIAgent,
  Persistence,
  strategy,
  type PersistenceStorageProvider,
  type PromptExecutor,
  type RetentionPolicy,
} from "agent-persistence";
import type { Floor } from "../measure/Floor.ts";
import { messageOf } from "../message.ts";
import type { StepTimes } from "../measure/StepTimes.ts";

export interface LoopOptions {
  /** The node throws when it is asked for the step after this one, unless `finishes`. */
  readonly steps: number;
  readonly finishes: boolean;
  /** How many messages are appended at most; absent: one for each step. */
  readonly messages?: number;
  /** How many of them a step appends; absent: one. */
  readonly each?: number;
  readonly times?: StepTimes;
  readonly floor?: Pick<Floor, "write">;
  /** Absent: nothing is pruned. */
  readonly retention?: RetentionPolicy;
  /** Called at the start of a step. */
  readonly onStep?: () => void;
}

export class EndOfLoop extends Error {}

/** An agent whose only node appends one message a step, with a checkpoint after each. */
export function loopingAgent(storage: PersistenceStorageProvider, options: LoopOptions): AIAgent<number, number> {
  const { steps, finishes, each = 1, messages = steps * each, times, floor, onStep, retention } = options;
  const looping = strategy<number, number>("looping", (graph) => {
    const append = graph.node("append", async (step: number, context) => {
      times?.enter();
      onStep?.();
      if (step > steps) throw new EndOfLoop();
      await floor?.write(JSON.stringify(messageOf(step)));
      for (let at = (step - 1) * each + 1; at <= Math.min(step * each, messages); at++)
        context.llm.append(messageOf(at));
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
  }).install(Persistence, { storage, ...(retention && { retention }) });
}

const noModel: PromptExecutor = {
  execute: () => Promise.reject(new Error("The benchmark asks no model.")),
};
