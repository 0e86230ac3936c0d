import { InMemoryPersistenceStorageProvider, persistence, tool, type AgentContext } from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { asking, idOf, idsOf, requestsOf, summaryOf, unfinishedOf } from "../support/asking.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { nodesOf, recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { WatchedClock } from "../../internal/WatchedClock.ts";

const size = z.object({ size: z.enum(["S", "M", "L"]) });

/** Books the hotel, asks for the size, books the shirt. */
function shop(world: World) {
  const book = world.adder("book", "irreversible");
  const graph = asking(async (input, context) => {
    world.nodes.push("ask");
    await context.tools.call(book, { item: input });
    const answer = await context.requestInput({ prompt: `which ${input}?`, schema: size });
    await context.tools.call(book, { item: answer.size });
    return answer.size;
  });
  return { graph, options: { tools: [book] } };
}

describe.each(logStorages)("$name: a node that requests input", (storage) => {
  it("ends the run as waiting, and continues after the answer without repeating work", async () => {
    const opened = await storage.open();
    const world = new World();
    const { graph, options } = shop(world);
    const waiting = await durableAgent(graph, opened(), options).run("shirt", { runId: "r-1" });
    expect(waiting).toMatchObject({
      status: "waiting",
      runId: "r-1",
      requests: [{ kind: "input", nodeId: "ask", prompt: "which shirt?", waitingFor: "user_input" }],
    });
    const request = idOf(waiting);
    expect(request).toMatch(/^[0-9a-f]{12}$/);
    await persistence(durableAgent(graph, opened(), options))
      .agent()
      .answer(request, { size: "M" });
    expect(world.nodes).toEqual(["ask"]);
    const done = await durableAgent(graph, opened(), options).resume();
    expect(done).toMatchObject({ status: "completed", runId: "r-1", output: "M" });
    expect(world.nodes).toEqual(["ask", "ask"]);
    expect(world.done).toEqual(["book shirt", "book M"]);
  });

  it("is described in the same way by the run, the log and the summary", async () => {
    const opened = await storage.open();
    const { graph, options } = shop(new World());
    const expiresAt = new Date("2026-03-01T00:00:00Z");
    const due = asking((input, context) =>
      context.requestInput({ prompt: input, schema: z.string(), waitingFor: "external_api", expiresAt }),
    );
    const agent = durableAgent(due, opened(), options);
    const requests = requestsOf(await agent.run("rate?"));
    expect(requests).toEqual([
      {
        kind: "input",
        agentPath: [],
        requestId: requests[0]?.requestId,
        nodeId: "ask",
        prompt: "rate?",
        schema: z.toJSONSchema(z.string()),
        waitingFor: "external_api",
        askedAt: "2026-01-01T00:00:00.000Z",
        expiresAt: "2026-03-01T00:00:00.000Z",
      },
    ]);
    expect(
      await persistence(durableAgent(graph, opened(), options))
        .agent()
        .getRequests(),
    ).toEqual(requests);
    expect(await summaryOf(opened())).toMatchObject({
      status: "waiting",
      requestIds: [requests[0]?.requestId],
      data: {
        waitingFor: "external_api",
        promptShownToUser: "rate?",
        timeoutAt: "2026-03-01T00:00:00.000Z",
      },
    });
    expect(await unfinishedOf(agent)).toEqual(["waiting"]);
  });

  it("waits again without running until answered, however the run is started", async () => {
    const opened = await storage.open();
    const world = new World();
    const { graph, options } = shop(world);
    const agent = durableAgent(graph, opened(), options);
    const waiting = await agent.run("shirt", { runId: "r-1" });
    const before = await recordsOf(opened());
    expect(await agent.run("shirt")).toEqual(waiting);
    expect(await agent.run("shirt", { runId: "r-1" })).toEqual(waiting);
    await expect(agent.run("other", { runId: "r-1" })).rejects.toMatchObject({ code: "run_input_differs" });
    expect(await durableAgent(graph, opened(), options).resume()).toEqual(waiting);
    expect(await recordsOf(opened())).toEqual(before);
    expect(world.nodes).toEqual(["ask"]);
    await expect(agent.run("other")).rejects.toMatchObject({ code: "unfinished_run" });
    const refused: unknown = await agent.run("other", { unfinished: "finish_first" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "unfinished_run", waits: true });
    expect(String(refused)).toContain("waits for an answer");
    expect(String(refused)).not.toContain("finish_first");
    expect(await agent.run("other", { unfinished: "abandon" })).toMatchObject({ status: "waiting" });
  });

  it("is found by a restart like a crashed run if it is answered and not resumed", async () => {
    const opened = await storage.open();
    const { graph, options } = shop(new World());
    const agent = durableAgent(graph, opened(), options);
    await persistence(agent)
      .agent()
      .answer(idOf(await agent.run("shirt")), { size: "S" });
    expect(await unfinishedOf(agent)).toEqual(["interrupted"]);
    expect(await summaryOf(opened())).toMatchObject({ status: "in_progress", requestIds: [] });
    expect(await persistence(agent).agent().getRequests()).toEqual([]);
    expect(await agent.run("shirt")).toMatchObject({ output: "S" });
  });

  it("accepts answers with the resume, either all or not at all", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) => {
      const asked = ["a", "b"].map((prompt) => context.requestInput({ prompt, schema: z.number() }));
      return (await Promise.all(asked)).join();
    });
    const agent = durableAgent(graph, opened());
    const [a = "", b = ""] = idsOf(await agent.run("go"));
    const before = await recordsOf(opened());
    for (const [answers, code] of [
      [{ [a]: 1, [b]: "two" }, "invalid_input"],
      [{ [a]: 1, other: 2 }, "request_not_found"],
    ] as const)
      await expect(agent.resume({ answers })).rejects.toMatchObject({ code });
    expect(await recordsOf(opened())).toEqual(before);
    await expect(agent.resume({ answers: { [a]: 1 }, checkpointId: "1-1" })).rejects.toMatchObject({
      code: "invalid_input",
      problems: [{ path: "checkpointId" }],
    });
    expect(await agent.resume({ answers: { [a]: 1, [b]: 2 } })).toMatchObject({ output: "1,2" });
  });

  it("keeps answers of every size and kind", async () => {
    const opened = await storage.open();
    const schema = z.object({ text: z.string(), at: z.date() });
    const graph = asking(async (_input, context) => {
      const { text, at } = await context.requestInput({ prompt: "p".repeat(20_000), schema });
      return `${text.length} ${at.toISOString()}`;
    });
    const request = idOf(await durableAgent(graph, opened()).run("go"));
    const outside = persistence(durableAgent(graph, opened())).agent();
    await outside.answer(request, { text: "x".repeat(30_000), at: new Date(0) });
    expect(await durableAgent(graph, opened()).resume()).toMatchObject({ output: "30000 1970-01-01T00:00:00.000Z" });
  });

  it("refuses an answer above the checkpoint limit without changes", async () => {
    const opened = await storage.open();
    const graph = asking((_input, context) => context.requestInput({ prompt: "text?", schema: z.string() }));
    const agent = durableAgent(graph, opened());
    const request = idOf(await agent.run("go"));
    const before = await recordsOf(opened());
    const large = "x".repeat(6 * 1024 * 1024);
    const answered = persistence(agent).agent().answer(request, large);
    await expect(answered).rejects.toMatchObject({
      code: "checkpoint_too_large",
      nodeId: "ask",
      parts: [{ name: `the answer to request ${request}` }],
      message: expect.stringMatching(/^The answers to requests of agent "a" for node "ask" would add 6291/) as string,
    });
    await expect(agent.resume({ answers: { [request]: large } })).rejects.toMatchObject({
      code: "checkpoint_too_large",
    });
    expect(await recordsOf(opened())).toEqual(before);
    expect(await agent.resume({ answers: { [request]: "short" } })).toMatchObject({ output: "short" });
  });

  it("works without automatic checkpoints", async () => {
    const opened = await storage.open();
    const world = new World();
    const { graph, options } = shop(world);
    const manual = { ...options, automatic: false };
    const request = idOf(await durableAgent(graph, opened(), manual).run("shirt"));
    const resumed = await durableAgent(graph, opened(), manual).resume({ answers: { [request]: { size: "L" } } });
    expect(resumed).toMatchObject({ output: "L" });
    expect(world.done).toEqual(["book shirt", "book L"]);
  });
});

describe.each(logStorages)("$name: an answer", (storage) => {
  it("that is invalid is refused with its path, whichever process knows the schema", async () => {
    const opened = await storage.open();
    const { graph, options } = shop(new World());
    const asked = durableAgent(graph, opened(), options);
    const request = idOf(await asked.run("shirt"));
    const before = await recordsOf(opened());
    for (const agent of [asked, durableAgent(graph, opened(), options)]) {
      const refused = persistence(agent).agent().answer(request, { size: "XXL" });
      await expect(refused).rejects.toMatchObject({ code: "invalid_input", problems: [{ path: "size" }] });
    }
    expect(await recordsOf(opened())).toEqual(before);
    expect((await persistence(asked).agent().getRequests()).map(({ requestId }) => requestId)).toEqual([request]);
  });

  it("that only the node's schema refuses is requested again with the reason", async () => {
    const opened = await storage.open();
    const even = z.number().refine((value) => value % 2 === 0, "an even number");
    const graph = asking(async (_input, context) =>
      String(await context.requestInput({ prompt: "even?", schema: even })),
    );
    const request = idOf(await durableAgent(graph, opened()).run("go"));
    const again = await durableAgent(graph, opened()).resume({ answers: { [request]: 3 } });
    expect(requestsOf(again)).toMatchObject([
      { requestId: request, prompt: "even?", problems: [{ path: "", expected: "an even number" }] },
    ]);
    const elsewhere = durableAgent(graph, opened());
    expect(await persistence(elsewhere).agent().getRequests()).toEqual(requestsOf(again));
    expect(await elsewhere.resume()).toEqual(again);
    expect(await elsewhere.resume({ answers: { [request]: 4 } })).toMatchObject({ output: "4" });
  });

  it("that the node would refuse is refused at once by the requesting process", async () => {
    const opened = await storage.open();
    const schema = z.string().transform((text, refinement) => {
      if (text.length > 3) refinement.addIssue("too long");
      return text.length;
    });
    const graph = asking(async (_input, context) => String(await context.requestInput({ prompt: "?", schema })));
    const agent = durableAgent(graph, opened());
    const request = idOf(await agent.run("go"));
    const outside = persistence(agent).agent();
    await expect(outside.answer(request, "four")).rejects.toMatchObject({ problems: [{ expected: "too long" }] });
    await outside.answer(request, "two");
    expect(await agent.resume()).toMatchObject({ output: "3" });
  });

  it("is accepted once, however many arrive at the same time or later", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) =>
      String(await context.requestInput({ prompt: "?", schema: z.number() })),
    );
    const request = idOf(await durableAgent(graph, opened()).run("go"));
    const outside = Array.from({ length: 10 }, () => persistence(durableAgent(graph, opened())).agent());
    const codes = await Promise.all(
      outside.map((agent, at) =>
        agent.answer(request, at, { timeoutMs: 0 }).then(
          () => "taken",
          (error: { readonly code: string }) => error.code,
        ),
      ),
    );
    expect(codes.filter((code) => code === "taken")).toHaveLength(1);
    expect(codes.every((code) => ["taken", "agent_busy", "request_answered"].includes(code))).toBe(true);
    await expect(outside[0]?.answer(request, 99)).rejects.toMatchObject({ code: "request_answered" });
    expect(await durableAgent(graph, opened()).resume()).toMatchObject({ output: String(codes.indexOf("taken")) });
    await expect(outside[0]?.answer(request, 99)).rejects.toMatchObject({ code: "request_answered" });
  });

  it("waits for an owned agent up to a time limit by the clock", async () => {
    const opened = await storage.open();
    const clock = new WatchedClock();
    const graph = asking(async (_input, context) =>
      String(await context.requestInput({ prompt: "?", schema: z.number() })),
    );
    const request = idOf(await durableAgent(graph, opened()).run("go"));
    const owner = await opened().log.open("a", { host: "here", processId: 1, nonce: "n" });
    const outside = persistence(durableAgent(graph, opened(), { clock })).agent();
    const refused = outside.answer(request, 1, { timeoutMs: 50 });
    await expect(clock.runUntil(refused)).rejects.toMatchObject({ code: "agent_busy" });
    const taken = outside.answer(request, 2, { timeoutMs: 60_000 });
    await owner.release();
    await clock.runUntil(taken);
    expect(await durableAgent(graph, opened()).resume()).toMatchObject({ output: "2" });
  });
});

describe.each(logStorages)("$name: several requests of one node", (storage) => {
  it("made together are listed together, and each keeps its answer", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) => {
      const ask = (prompt: string) => context.requestInput({ prompt, schema: z.string() });
      return (await Promise.all([ask("a"), ask("b"), ask("c")])).join("");
    });
    const requests = requestsOf(await durableAgent(graph, opened()).run("go"));
    expect(requests.map((request) => request.kind === "input" && request.prompt)).toEqual(["a", "b", "c"]);
    const [a, b, c] = requests.map(({ requestId }) => requestId);
    const outside = persistence(durableAgent(graph, opened())).agent();
    await outside.answer(b ?? "", "B");
    expect((await outside.getRequests()).map(({ requestId }) => requestId)).toEqual([a, c]);
    expect(await summaryOf(opened())).toMatchObject({ status: "waiting", requestIds: [a, c] });
    expect(idsOf(await durableAgent(graph, opened()).resume())).toEqual([a, c]);
    await outside.answer(a ?? "", "A");
    await outside.answer(c ?? "", "C");
    expect(await durableAgent(graph, opened()).resume()).toMatchObject({ output: "ABC" });
  });

  it("continue after the first answer if the node needs no other answer", async () => {
    const opened = await storage.open();
    const graph = asking((_input, context) =>
      Promise.race(["person", "webhook"].map((prompt) => context.requestInput({ prompt, schema: z.string() }))),
    );
    const [, webhook = ""] = idsOf(await durableAgent(graph, opened()).run("go"));
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    expect(await durableAgent(graph, opened()).resume({ answers: { [webhook]: "called" } })).toMatchObject({
      output: "called",
    });
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  it("receive the right answers, however they are made", async () => {
    const opened = await storage.open();
    const world = new World();
    const remove = world.adder("remove", "irreversible");
    // The first time "B" is asked before "A", then after it.
    let runs = 0;
    const graph = asking(async (_input, context) => {
      const names = runs++ === 0 ? ["B", "A"] : ["A", "B"];
      const chains = names.map(async (name) => {
        const may = await context.requestInput({ prompt: `delete ${name}?`, schema: z.boolean() });
        if (may) await context.tools.call(remove, { item: name });
      });
      await Promise.all(chains);
      return "done";
    });
    const agent = durableAgent(graph, opened(), { tools: [remove] });
    const requests = requestsOf(await agent.run("go"));
    const answers = Object.fromEntries(
      requests.map((request) => [request.requestId, request.kind === "input" && request.prompt === "delete B?"]),
    );
    expect(await agent.resume({ answers })).toMatchObject({ output: "done" });
    expect(world.done).toEqual(["remove B"]);
  });

  it.each([
    ["without an id", undefined],
    ["with an id", "price"],
  ])("do not use an answer to another request, and report the reason: %s", async (_name, id) => {
    const opened = await storage.open();
    let price = 10;
    const graph = asking(async (_input, context) => {
      const paid = price;
      const may = await context.requestInput({ id, prompt: `pay ${paid}?`, schema: z.boolean() });
      return may ? `paid ${paid}` : "nothing";
    });
    const agent = durableAgent(graph, opened());
    const first = idOf(await agent.run("go"));
    await persistence(agent).agent().answer(first, true);
    price = 1_000_000;
    const again = await agent.resume();
    const problems = [{ path: "", expected: expect.stringContaining("is to another one") as string }];
    expect(requestsOf(again)).toMatchObject([{ prompt: "pay 1000000?", problems }]);
    expect(await persistence(agent).agent().getRequests()).toEqual(requestsOf(again));
    expect(idOf(again)).not.toBe(first);
    await expect(persistence(agent).agent().answer(first, true)).rejects.toMatchObject({ code: "request_answered" });
    // It is said as long as the request is open.
    expect(requestsOf(await durableAgent(graph, opened()).resume())).toMatchObject([{ problems }]);
    await persistence(agent).agent().answer(idOf(again), false);
    expect(await agent.resume()).toMatchObject({ output: "nothing" });
  });

  it.each([
    ["without an id", undefined],
    ["with an id", "price"],
  ])("keep their answer even if others were made since: %s", async (_name, id) => {
    const opened = await storage.open();
    let price = 10;
    const graph = asking(async (_input, context) => {
      const asked = price;
      const may = await context.requestInput({ id, prompt: `pay ${asked}?`, schema: z.boolean() });
      return may ? `paid ${asked}` : "nothing";
    });
    const agent = () => durableAgent(graph, opened());
    const first = idOf(await agent().run("go"));
    price = 20;
    await persistence(agent()).agent().answer(first, true);
    const second = idOf(await agent().resume());
    price = 10;
    expect(second).not.toBe(first);
    await persistence(agent()).agent().answer(second, false);
    expect(await agent().resume()).toMatchObject({ output: "paid 10" });
  });

  it("ignore an answer that a tool received", async () => {
    const opened = await storage.open();
    const lookUp = tool({
      name: "look_up",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { context }) => context.requestInput({ id: "rate", prompt: "rate?", schema: z.string() }),
    });
    const stop = new AbortController();
    const graph = asking(async (_input, context) => {
      const rate = await context.tools.call(lookUp, {});
      if (!stop.signal.aborted) stop.abort();
      context.signal.throwIfAborted();
      return `${rate} ${await context.requestInput({ prompt: "sure?", schema: z.string() })}`;
    });
    const agent = () => durableAgent(graph, opened(), { tools: [lookUp] });
    const rate = idOf(await agent().run("go"));
    const stopped = agent().resume({ answers: { [rate]: "7" }, signal: stop.signal });
    await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
    // The call has ended, so it asks nothing when the node runs again.
    const asked = await agent().resume();
    expect(requestsOf(asked)[0]).not.toHaveProperty("problems");
    expect(await agent().resume({ answers: { [idOf(asked)]: "yes" } })).toMatchObject({ output: "7 yes" });
  });

  it("that are equal are distinguished by their number", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) => {
      const asked = [1, 2].map(() => context.requestInput({ prompt: "a number?", schema: z.number() }));
      return (await Promise.all(asked)).join();
    });
    const agent = durableAgent(graph, opened());
    const [first = "", second = ""] = idsOf(await agent.run("go"));
    expect(await agent.resume({ answers: { [second]: 2 } })).toMatchObject({ status: "waiting" });
    const [left = ""] = idsOf(await agent.resume());
    expect(left).toBe(first);
    expect(await agent.resume({ answers: { [first]: 1 } })).toMatchObject({ output: "1,2" });
  });

  it("in sequence each wait, and have different ids in a loop", async () => {
    for (const named of [true, false]) {
      const opened = await storage.open();
      const graph = asking(async (_input, context) => {
        const lines: string[] = [];
        for (let round = 0; lines.at(-1) !== "end"; round++) {
          const id = named ? { id: `round ${round}` } : {};
          lines.push(await context.requestInput({ ...id, prompt: `line ${round}`, schema: z.string() }));
        }
        return lines.join();
      });
      let result = await durableAgent(graph, opened()).run("go");
      const asked: string[] = [];
      for (const line of ["one", "two", "end"]) {
        asked.push(idOf(result));
        result = await durableAgent(graph, opened()).resume({ answers: { [idOf(result)]: line } });
      }
      expect(result).toMatchObject({ output: "one,two,end" });
      expect(new Set(asked).size).toBe(3);
    }
  });

  it("cannot share an id in one visit of the node, but can in another visit", async () => {
    const opened = await storage.open();
    const twice = asking(async (_input, context) => {
      const ask = () => context.requestInput({ id: "same", prompt: "?", schema: z.string() });
      return (await Promise.all([ask(), ask()])).join();
    });
    await expect(durableAgent(twice, opened()).run("go")).rejects.toMatchObject({
      code: "duplicate_request",
      duplicateName: "same",
      within: "ask",
    });
    const again = await storage.open();
    const once = asking((_input, context) => context.requestInput({ id: "same", prompt: "?", schema: z.string() }));
    const agent = durableAgent(once, again());
    const first = idOf(await agent.run("a"));
    await agent.resume({ answers: { [first]: "x" } });
    const second = idOf(await agent.run("b"));
    expect(second).not.toBe(first);
    expect(await agent.resume({ answers: { [second]: "y" } })).toMatchObject({ output: "y" });
  });

  it("wait for concurrent calls, and list the requests that follow them", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book", "irreversible");
    const graph = asking(async (_input, context) => {
      const direct = context.requestInput({ prompt: "direct", schema: z.string() });
      const after = async () => {
        await context.tools.call(book, { item: "slow" });
        return context.requestInput({ prompt: "after the call", schema: z.string() });
      };
      return (await Promise.all([direct, after()])).join();
    });
    const ids = idsOf(await durableAgent(graph, opened(), { tools: [book] }).run("go"));
    expect(ids).toHaveLength(2);
    const answers = Object.fromEntries(ids.map((id, at) => [id, String(at)]));
    const done = await durableAgent(graph, opened(), { tools: [book] }).resume({ answers });
    expect(done).toMatchObject({ output: "0,1" });
    expect(world.done).toEqual(["book slow"]);
  });

  it("that the node does not await are not opened", async () => {
    const opened = await storage.open();
    const graph = asking(async (input, context) => {
      void context.requestInput({ prompt: "never mind", schema: z.string() });
      return input;
    });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const result = await durableAgent(graph, opened()).run("go");
    const calls: readonly unknown[][] = warned.mock.calls;
    warned.mockRestore();
    expect(result).toMatchObject({ status: "completed", output: "go" });
    expect(calls).toEqual([
      [
        expect.stringMatching(/"ask".*did not wait for.*Await/),
        expect.objectContaining({ code: "request_not_awaited" }),
      ],
    ]);
  });
});

describe.each(logStorages)("$name: while a request is open", (storage) => {
  const open = (context: AgentContext) => context.requestInput({ prompt: "?", schema: z.string() });

  it("a failure makes the run fail, and the request is opened again", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = asking(async (_input, context) => {
      const [answer] = await Promise.all([open(context), Promise.resolve().then(() => fault.strike())]);
      return answer;
    });
    await expect(durableAgent(graph, opened()).run("go")).rejects.toThrow("stopped");
    expect(await persistence(durableAgent(graph, opened())).agent().getRequests()).toEqual([]);
    fault.repair();
    const request = idOf(await durableAgent(graph, opened()).resume());
    expect(await durableAgent(graph, opened()).resume({ answers: { [request]: "x" } })).toMatchObject({ output: "x" });
  });

  it("an aborted run rejects with its reason, and opens the request again when it is resumed", async () => {
    const opened = await storage.open();
    const controller = new AbortController();
    const graph = asking((_input, context) => {
      const asked = open(context);
      controller.abort(new RangeError("shutdown"));
      return asked;
    });
    const { signal } = controller;
    await expect(durableAgent(graph, opened()).run("go", { signal })).rejects.toThrow("shutdown");
    expect(await durableAgent(graph, opened()).resume()).toMatchObject({ status: "waiting" });
  });

  it("a move takes the run elsewhere", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) => {
      const moved = persistence(context).setExecutionPoint({ nodeId: "tell", input: "moved" });
      const [answer] = await Promise.all([open(context), moved]);
      return answer;
    });
    expect(await durableAgent(graph, opened()).run("go")).toMatchObject({ status: "completed", output: "moved" });
  });
});

describe.each(logStorages)("$name: an expired request", (storage) => {
  const hour = 3_600_000;
  const until = (clock: SimulatedClock, handle: (error: unknown) => string | Promise<string>) =>
    asking((_input, context) =>
      context
        .requestInput({ prompt: "?", schema: z.string(), expiresAt: new Date(clock.now() + hour) })
        .catch((error: unknown) => handle(error)),
    );
  const rethrow = (error: unknown): never => {
    throw error;
  };

  it("accepts no answer, fails the resume, and is opened again by the next resume", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const graph = until(clock, rethrow);
    const agent = durableAgent(graph, opened(), { clock });
    const first = await agent.run("go");
    const request = idOf(first);
    expect(await agent.resume()).toEqual(first);
    clock.advance(hour);
    const outside = persistence(agent).agent();
    const before = await recordsOf(opened());
    const expired = { code: "request_expired", requestId: request, expiredAt: "2026-01-01T01:00:00.000Z" };
    await expect(outside.answer(request, "late")).rejects.toMatchObject(expired);
    expect(await recordsOf(opened())).toEqual(before);
    await expect(agent.resume()).rejects.toMatchObject(expired);
    expect(await summaryOf(opened())).toMatchObject({ status: "failed" });
    await expect(outside.answer(request, "late")).rejects.toMatchObject(expired);
    expect(idOf(await agent.resume())).toBe(request);
    await outside.answer(request, "in time");
    expect(await agent.resume()).toMatchObject({ output: "in time" });
  });

  it("is opened again if a tool made it, in a fork too, unlike a request whose expiry the node caught", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const expiring = (context: AgentContext, prompt: string) =>
      context.requestInput({ prompt, schema: z.string(), expiresAt: new Date(clock.now() + hour) });
    const ask = tool({
      name: "ask",
      description: "",
      inputSchema: z.object({}),
      effect: "none",
      execute: (_input, { context }) => expiring(context, "second?"),
    });
    const graph = asking(async (_input, context) => {
      const first = await expiring(context, "first?").catch(() => "nobody");
      return `${first} ${await context.tools.call(ask, {})}`;
    });
    const agent = () => durableAgent(graph, opened(), { clock, tools: [ask] });
    await agent().run("go");
    clock.advance(hour);
    expect(requestsOf(await agent().resume())).toMatchObject([{ prompt: "second?" }]);
    clock.advance(hour);
    await expect(agent().resume()).rejects.toThrow("expired");
    await persistence(agent()).agent("a").fork("b");
    for (const agentId of ["a", "b"]) {
      const asked = await agent().resume({ agentId });
      expect(requestsOf(asked)).toMatchObject([{ prompt: "second?" }]);
      expect(await agent().resume({ agentId, answers: { [idOf(asked)]: "M" } })).toMatchObject({ output: "nobody M" });
    }
  });

  it("is opened again with all requests that expired with it, in a fork too", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const graph = asking(async (_input, context) => {
      const ask = (prompt: string) =>
        context.requestInput({ prompt, schema: z.string(), expiresAt: new Date(clock.now() + hour) });
      return (await Promise.all([ask("first?"), ask("second?")])).join(" ");
    });
    const agent = () => durableAgent(graph, opened(), { clock });
    await agent().run("go");
    clock.advance(hour);
    await expect(agent().resume()).rejects.toThrow("expired");
    await persistence(agent()).agent("a").fork("b");
    for (const agentId of ["a", "b"]) {
      const ids = idsOf(await agent().resume({ agentId }));
      expect(ids).toHaveLength(2);
      const answers = Object.fromEntries(ids.map((id) => [id, "M"]));
      expect(await agent().resume({ agentId, answers })).toMatchObject({ output: "M M" });
    }
  });

  it("is an error that the node may catch, the same each time it runs", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const fault = new Fault();
    const graph = until(clock, () => {
      fault.strike();
      return "nobody";
    });
    await durableAgent(graph, opened(), { clock }).run("go");
    clock.advance(hour);
    await expect(durableAgent(graph, opened(), { clock }).resume()).rejects.toThrow("stopped");
    clock.jump(-2 * hour);
    fault.repair();
    expect(await durableAgent(graph, opened(), { clock }).resume()).toMatchObject({ output: "nobody" });
  });

  it("is found by its due time", async () => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const agent = durableAgent(until(clock, rethrow), opened(), { clock });
    await agent.run("go");
    const due: string[] = [];
    for await (const { agentId, data } of opened().log.list({ status: "waiting" }))
      if (Date.parse((data as { timeoutAt: string }).timeoutAt) <= clock.now() + hour) due.push(agentId);
    expect(due).toEqual(["a"]);
  });
});

describe.each(logStorages)("$name: a waiting agent that is moved from outside", (storage) => {
  it("drops its requests, and opens them again under other ids", async () => {
    const moves = ["rollbackToLatestCheckpoint", "setExecutionPoint", "messages"] as const;
    for (const move of moves) {
      const opened = await storage.open();
      const { graph, options } = shop(new World());
      const agent = durableAgent(graph, opened(), options);
      const request = idOf(await agent.run("shirt"));
      const outside = persistence(agent).agent();
      if (move === "setExecutionPoint") await outside.setExecutionPoint({ nodeId: "ask", input: "hat" });
      else
        await outside.rollbackToLatestCheckpoint(
          move === "messages" ? { rollbackStrategy: "message_history_only" } : {},
        );
      expect(await outside.getRequests()).toEqual([]);
      await expect(outside.answer(request, { size: "S" })).rejects.toMatchObject({
        code: "request_not_found",
        openRequests: [],
      });
      const again = idOf(await agent.resume());
      expect(again).not.toBe(request);
      expect(await agent.resume({ answers: { [again]: { size: "S" } } })).toMatchObject({ output: "S" });
    }
  });

  it("keeps answers from before the checkpoint that it returns to", async () => {
    const opened = await storage.open();
    const graph = asking(async (_input, context) => {
      const first = await context.requestInput({ prompt: "first", schema: z.string() });
      await persistence(context)
        .createCheckpoint({ checkpointId: `after ${first}` })
        .catch(() => undefined);
      const second = await context.requestInput({ prompt: "second", schema: z.string() });
      return `${first} ${second}`;
    });
    const agent = durableAgent(graph, opened());
    const first = idOf(await agent.run("go"));
    const second = idOf(await agent.resume({ answers: { [first]: "one" } }));
    await agent.resume({ answers: { [second]: "two" } });
    await persistence(agent).agent().rollbackToCheckpoint("after one");
    const again = await agent.resume();
    expect(requestsOf(again)).toMatchObject([{ prompt: "second" }]);
    expect(await agent.resume({ answers: { [idOf(again)]: "three" } })).toMatchObject({ output: "one three" });
  });
});

describe.each(logStorages)("$name: cancel", (storage) => {
  it("ends a waiting, interrupted, paused or failed run, which can no longer be resumed", async () => {
    const fault = new Fault();
    const graph = asking(async (input, context) => {
      if (input === "fail") fault.strike();
      return context.requestInput({ prompt: "?", schema: z.string() });
    });
    for (const status of ["waiting", "interrupted", "paused", "failed"]) {
      const opened = await storage.open();
      const agent = durableAgent(graph, opened());
      const outside = persistence(agent).agent();
      const result = await agent.run(status === "failed" ? "fail" : "go").catch(() => undefined);
      if (status === "interrupted" && result) await outside.answer(idOf(result), "x");
      if (status === "paused") await outside.rollbackToLatestCheckpoint();
      await outside.cancel("no longer wanted");
      expect(await summaryOf(opened())).toMatchObject({
        status: "cancelled",
        requestIds: [],
        data: { reason: "no longer wanted" },
      });
      expect(await outside.getRequests()).toEqual([]);
      await expect(agent.resume()).rejects.toMatchObject({ code: "nothing_to_resume" });
      await expect(outside.cancel()).rejects.toMatchObject({ code: "nothing_to_cancel" });
      expect((await nodesOf(agent)).at(-1)).toBe("ask");
    }
  });

  it("does nothing for an agent that never ran or whose run is finished", async () => {
    const opened = await storage.open();
    const agent = durableAgent(
      asking(async (input) => input),
      opened(),
    );
    await expect(persistence(agent).agent().cancel()).rejects.toMatchObject({ code: "nothing_to_cancel" });
    await agent.run("go");
    await expect(persistence(agent).agent().cancel()).rejects.toMatchObject({ code: "nothing_to_cancel" });
    expect(await agent.run("go", { runId: "r-2" })).toMatchObject({ output: "go" });
  });
});

describe("cancel of a running agent", () => {
  it("makes its owner stop, and then ends the run", async () => {
    const clock = new WatchedClock();
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const graph = asking((_input, context) => {
      begun();
      return new Promise((_resolve, reject) =>
        context.signal.addEventListener("abort", () => reject(context.signal.reason)),
      );
    });
    const provider = new InMemoryPersistenceStorageProvider();
    const agent = durableAgent(graph, provider);
    const stopped = agent.run("go").catch((error: unknown) => error);
    await running;
    const cancelled = persistence(durableAgent(graph, provider, { clock }))
      .agent()
      .cancel("enough");
    expect(await stopped).toMatchObject({ code: "stop_requested" });
    await clock.runUntil(cancelled);
    await expect(agent.resume()).rejects.toMatchObject({ code: "nothing_to_resume" });
  });
});
