import { persistence, strategy, type AgentContext, type Graph, type Strategy } from "agent-persistence";
import { expect, it } from "vitest";
import { z } from "zod";
import { CountedFiles } from "../support/CountedFiles.ts";
import { durableAgent } from "../support/durableAgent.ts";

/** Each of the items asks. */
const asking = (items: readonly number[]): Strategy<string, string> =>
  strategy<string, string>("asking", (graph) => {
    const ask = graph.node("ask", async (item: number, context: AgentContext) =>
      String(await context.requestInput({ prompt: `${item}?`, schema: z.boolean() })),
    );
    const all = graph.each("all", ask, (results: readonly string[]) => results.join());
    graph.edge(graph.start, all, { map: () => items });
    graph.edge(all, graph.finish);
  });

const options = { maxIterations: 100_000 };

async function stored(built: Strategy<string, string>): Promise<{ readonly bytes: number; readonly appends: number }> {
  const files = await CountedFiles.create();
  await durableAgent(built, files.open(), options).run("go");
  return sizeOf(files);
}

async function sizeOf(files: CountedFiles): Promise<{ readonly bytes: number; readonly appends: number }> {
  let appends = 0;
  const { bytesRead: bytes } = await files.count(async () => {
    for await (const _ of files.open().log.read("a")) appends++;
  });
  return { bytes, appends };
}

function spinning(graph: Graph<string, string>, name: string) {
  return graph.subgraph<number, number>(name, (inner) => {
    const spin = inner.node("spin", (left: number, context) => {
      context.llm.append({ role: "user", content: `${left} `.padEnd(200, "x") });
      return left - 1;
    });
    inner.edge(inner.start, spin);
    inner.edge(spin, spin, { when: (left: number) => left > 0 });
    inner.edge(spin, inner.finish, { when: (left: number) => left === 0 });
  });
}

it("ten branches store no more bytes than the same steps in sequence, in fewer appends", async () => {
  const steps = 30;
  const line = strategy<string, string>("line", (graph) => {
    const all = spinning(graph, "all");
    graph.edge(graph.start, all, { map: () => 10 * steps });
    graph.edge(all, graph.finish, { map: () => "done" });
  });
  const branches = strategy<string, string>("branches", (graph) => {
    const each = Array.from({ length: 10 }, (_, at) => [`b${at}`, spinning(graph, `b${at}`)] as const);
    const all = graph.parallel("all", Object.fromEntries(each), () => "done");
    graph.edge(graph.start, all, { map: () => steps });
    graph.edge(all, graph.finish);
  });
  const [one, ten] = [await stored(line), await stored(branches)];
  expect(ten.bytes).toBeLessThan(1.1 * one.bytes);
  expect(ten.appends).toBeLessThan(one.appends / 5);
});

it("each of a thousand items takes at most 250 bytes in addition to its values", async () => {
  const items = Array.from({ length: 1_000 }, (_, at) => at);
  const built = strategy<string, string>("items", (graph) => {
    const work = graph.node("work", (item: number) => item);
    const all = graph.each("all", work, { concurrency: 100 }, (results: readonly number[]) => `${results.length}`);
    graph.edge(graph.start, all, { map: () => items });
    graph.edge(all, graph.finish);
  });
  const { bytes } = await stored(built);
  // The list of the items is the input of the node and of its merge, and each item an input and an output.
  const values = 4 * JSON.stringify(items).length;
  expect((bytes - values) / items.length).toBeLessThan(250);
});

it("branches wait for the storage once 256 KB are pending", async () => {
  const items = Array.from({ length: 300 }, (_, at) => at);
  const built = strategy<string, string>("items", (graph) => {
    const work = graph.node("work", (item: number) => `${item} `.padEnd(4_000, "x"));
    const all = graph.each("all", work, { concurrency: 10 }, (results: readonly string[]) => `${results.length}`);
    graph.edge(graph.start, all, { map: () => items });
    graph.edge(all, graph.finish);
  });
  const files = await CountedFiles.create();
  await durableAgent(built, files.open(), options).run("go");
  let largest = 0;
  for await (const { records } of files.open().log.read("a"))
    largest = Math.max(largest, JSON.stringify(records).length);
  expect(largest).toBeLessThan(400_000);
});

it("a request and its answer cost one append each, for any number of branches", async () => {
  const built = asking([1, 2, 3]);
  const files = await CountedFiles.create();
  const agent = () => durableAgent(built, files.open());
  await agent().run("go");
  // The beginning of the run, the requests with what they wait for, and the status of the run.
  const asked = await sizeOf(files);
  expect(asked.appends).toBeLessThanOrEqual(4);
  const [request] = await persistence(agent()).agent("a").getRequests();
  await persistence(agent()).answer(request?.requestId ?? "", true);
  expect((await sizeOf(files)).appends).toBe(asked.appends + 1);
});

it("an answer reads as many records with 150 open requests as with 600", async () => {
  const answering = async (open: number) => {
    const files = await CountedFiles.create();
    const agent = durableAgent(asking(Array.from({ length: open }, (_, at) => at)), files.open(), options);
    await agent.run("go");
    const asked = persistence(agent).agent("a");
    const answer = async (from: number, to: number) => {
      for (const { requestId } of requests.slice(from, to)) await asked.answer(requestId, true);
    };
    const requests = await asked.getRequests();
    // The first answer lists what is left, and the second one reads that again.
    await answer(0, 2);
    return files.count(() => answer(2, 12));
  };
  const [few, many] = [await answering(150), await answering(600)];
  expect(many.recordsRead).toBe(few.recordsRead);
});
