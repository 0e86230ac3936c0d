import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesDeltaValue, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { mkdir } from "node:fs/promises";
import { answer, type OpenConversation, question } from "../turns.ts";
import type { Channel } from "./graph.ts";
import type { SaverKind } from "../contestants.ts";
import { type OpenSaver, openSaver } from "./savers.ts";

/** A graph of one node that answers, called once a turn with one thread. */
export function openGraph(kind: SaverKind, channel: Channel): OpenConversation {
  return async (directory) => {
    await mkdir(directory, { recursive: true });
    const { saver, close } = openSaver(kind, directory);
    const graph = channel === "full" ? fullGraph(saver) : deltaGraph(saver);
    const config = { configurable: { thread_id: "bench" } };
    return {
      ask: () => graph.invoke({ messages: [new HumanMessage(question)] }, { ...config, durability: "sync" }),
      messages: async () => {
        const { messages } = (await graph.getState(config)).values as { messages: readonly { content: unknown }[] };
        return messages.map(({ content }) => ({ content }));
      },
      close: async () => await close(),
    };
  };
}

const reply = () => ({ messages: [new AIMessage(answer)] });

function fullGraph(checkpointer: OpenSaver["saver"]) {
  return new StateGraph(new StateSchema({ messages: MessagesValue }))
    .addNode("answer", reply)
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

function deltaGraph(checkpointer: OpenSaver["saver"]) {
  return new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
    .addNode("answer", reply)
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}
