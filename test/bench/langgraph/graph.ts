import { AIMessage } from "@langchain/core/messages";
import { END, MessagesDeltaValue, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { messageOf } from "../message.ts";
import type { MeasuredRun, Run } from "./runWithSaver.ts";

/** `full` keeps the whole history in every checkpoint, `delta` (experimental in LangGraph) what is new and snapshots. */
export type Channel = "full" | "delta";

/** One node that loops, a message a step; every checkpoint is awaited before the next step, as ours are. */
export function throughGraph(channel: Channel, steps: number): Run {
  return async (measured) => {
    const graph = channel === "full" ? fullGraph(steps, measured) : deltaGraph(steps, measured);
    measured.times.leave();
    await graph.invoke(
      { step: 0 },
      { configurable: { thread_id: "bench" }, recursionLimit: steps + 10, durability: "sync" },
    );
    measured.times.enter();
  };
}

function fullGraph(steps: number, measured: MeasuredRun) {
  const state = new StateSchema({ messages: MessagesValue, step: z.number() });
  return new StateGraph(state)
    .addNode("append", ({ step }) => append(step + 1, measured))
    .addEdge(START, "append")
    .addConditionalEdges("append", ({ step }) => (step < steps ? "append" : END))
    .compile({ checkpointer: measured.saver });
}

function deltaGraph(steps: number, measured: MeasuredRun) {
  const state = new StateSchema({ messages: MessagesDeltaValue, step: z.number() });
  return new StateGraph(state)
    .addNode("append", ({ step }) => append(step + 1, measured))
    .addEdge(START, "append")
    .addConditionalEdges("append", ({ step }) => (step < steps ? "append" : END))
    .compile({ checkpointer: measured.saver });
}

async function append(step: number, { times, floor }: MeasuredRun) {
  times.enter();
  const message = messageOf(step);
  await floor?.write(JSON.stringify(message));
  const messages = [new AIMessage({ id: `message-${step}`, content: message.content })];
  times.leave();
  return { step, messages };
}
