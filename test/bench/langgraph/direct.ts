import { AIMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { messageOf } from "../message.ts";
import type { Run } from "./runWithSaver.ts";

/** `saver.put` alone, with the whole history in each checkpoint, as LangGraph's own loop calls it. */
export function putDirectly(steps: number): Run {
  return async ({ saver, times, floor }) => {
    const messages: AIMessage[] = [];
    let config = { configurable: { thread_id: "bench", checkpoint_ns: "" } };
    times.leave();
    for (let step = 1; step <= steps; step++) {
      times.enter();
      const message = messageOf(step);
      await floor?.write(JSON.stringify(message));
      messages.push(new AIMessage({ id: `message-${step}`, content: message.content }));
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: { messages: [...messages] },
        channel_versions: { messages: step },
      };
      const metadata: CheckpointMetadata = { source: "loop", step, parents: {} };
      times.leave();
      config = (await saver.put(config, checkpoint, metadata, { messages: step })) as typeof config;
    }
    times.enter();
  };
}
