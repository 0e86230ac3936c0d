import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import type { ReadFigures } from "../GraphFigures.ts";
import { messageOf } from "../message.ts";
import { median } from "../measure/statistics.ts";
import type { SaverKind } from "../contestants.ts";
import { openSaver } from "./savers.ts";

/** With the input and what precedes it, 303 checkpoints. */
const supersteps = 301;
const messages = 3_000;
const listed = 100;
const rounds = 5;

/** The saver that wrote the threads reads them, and so does, on files, a new one. */
export async function reads(kind: SaverKind, directory: string): Promise<ReadFigures> {
  const { saver, close } = openSaver(kind, directory);
  const graph = growingGraph(saver);
  await graph.invoke({ step: 0 }, { ...thread("history"), recursionLimit: supersteps + 10, durability: "sync" });
  await (kind.startsWith("ours") ? putEach(saver) : putOnce(saver));
  await putMany(saver);
  const historyMs = await medianOf(async () => {
    let checkpoints = 0;
    for await (const { values } of graph.getStateHistory(thread("history"))) checkpoints += values ? 1 : 0;
    if (checkpoints !== supersteps + 2) throw new Error(`There are ${checkpoints} checkpoints.`);
  });
  const latestMs = await medianOf(() => readLatest(saver));
  const listMs = await medianOf(async () => {
    let tuples = 0;
    for await (const _ of saver.list(thread("list"), { limit: listed })) tuples++;
    if (tuples !== listed) throw new Error(`There are ${tuples} tuples.`);
  });
  await close();
  if (kind === "memory" || kind === "ours-memory") return { historyMs, latestMs, listMs };
  const newLatestMs = await medianOf(async () => {
    const { saver: another, close: closeIt } = openSaver(kind, directory);
    await readLatest(another);
    await closeIt();
  });
  return { historyMs, latestMs, listMs, newLatestMs };
}

async function readLatest(saver: BaseCheckpointSaver): Promise<void> {
  const tuple = await saver.getTuple(thread("latest"));
  const read = tuple?.checkpoint.channel_values["messages"] as readonly unknown[] | undefined;
  if (read?.length !== messages) throw new Error("The messages were not read.");
}

function thread(id: string) {
  return { configurable: { thread_id: id, checkpoint_ns: "" } };
}

/** One round compiles the code and is thrown away. */
async function medianOf(action: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) times.push(await cpuTimeOf(action));
  return median(times.slice(1));
}

function growingGraph(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(new StateSchema({ messages: MessagesValue, step: z.number() }))
    .addNode("append", ({ step }) => ({ step: step + 1, messages: [message(step + 1)] }))
    .addEdge(START, "append")
    .addConditionalEdges("append", ({ step }) => (step < supersteps ? "append" : END))
    .compile({ checkpointer });
}

function message(step: number): AIMessage {
  return new AIMessage({ id: `message-${step}`, content: messageOf(step).content });
}

/** In LangGraph's savers, the latest checkpoint takes the same whatever was before it, and 3,000 of them would take 9 GB. */
async function putOnce(saver: BaseCheckpointSaver): Promise<void> {
  const values = { messages: Array.from({ length: messages }, (_, at) => message(at + 1)) };
  await saver.put(thread("latest"), checkpointOf(1, values), { source: "loop", step: 1, parents: {} }, { messages: 1 });
}

/** A message more in each checkpoint. */
async function putEach(saver: BaseCheckpointSaver): Promise<void> {
  const values = Array.from({ length: messages }, (_, at) => message(at + 1));
  await putAll(saver, "latest", (step) => ({ messages: values.slice(0, step) }));
}

/** Another text in each checkpoint. */
async function putMany(saver: BaseCheckpointSaver): Promise<void> {
  await putAll(saver, "list", (step) => ({ text: messageOf(step).content }));
}

async function putAll(
  saver: BaseCheckpointSaver,
  id: string,
  valuesOf: (step: number) => Readonly<Record<string, unknown>>,
): Promise<void> {
  let config: Awaited<ReturnType<BaseCheckpointSaver["put"]>> = thread(id);
  for (let step = 1; step <= messages; step++) {
    const [values, metadata] = [valuesOf(step), { source: "loop", step, parents: {} } as const];
    const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, step]));
    config = await saver.put(config, checkpointOf(step, values), metadata, versions);
  }
}

function checkpointOf(step: number, channel_values: Readonly<Record<string, unknown>>) {
  const channel_versions = Object.fromEntries(Object.keys(channel_values).map((channel) => [channel, step]));
  return { ...emptyCheckpoint(), id: uuid6(step), channel_values: { ...channel_values }, channel_versions };
}
