import { strategy, type AgentContext, type PromptExecutor, type PromptRequest } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { gate } from "../../agent/gate.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** What a provider throws: it has fields that a node decides by. */
class Overloaded extends Error {
  override readonly name = "Overloaded";
  readonly status = 529;
}

/** A model that refuses these requests, counted from 0, and answers the others with their number. */
function refusing(...refused: readonly number[]) {
  const asked: string[] = [];
  const promptExecutor: PromptExecutor = {
    async execute({ model }: PromptRequest) {
      const number = asked.push(model) - 1;
      if (refused.includes(number)) throw new Overloaded("overloaded");
      return { message: { role: "assistant", content: `${model} ${number}` } };
    },
  };
  return { asked, promptExecutor };
}

describe.each(logStorages)("$name: failed model requests, when their node runs again", (storage) => {
  /** Runs a node that is interrupted at its end, and then again. */
  async function twice(
    model: ReturnType<typeof refusing>,
    body: (context: AgentContext, book: ReturnType<World["adder"]>) => Promise<unknown>,
  ) {
    const world = new World();
    const opened = await storage.open();
    const book = world.adder("book");
    const fault = new Fault();
    const outputs: unknown[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (input: string, context: AgentContext) => {
        outputs.push(await body(context, book));
        await context.tools.call(book, { item: "room" });
        fault.strike();
        return input;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { tools: [book], model: model.promptExecutor });
    await agent()
      .run("go")
      .catch(() => undefined);
    const asked = [...model.asked];
    fault.repair();
    const result = await agent().resume();
    return { result, outputs, world, asked, askedAgain: model.asked.slice(asked.length) };
  }

  it("that were repeated are skipped, and the node gets the recorded responses", async () => {
    const { result, outputs, world, askedAgain } = await twice(refusing(0, 1, 3), async ({ llm }) => {
      const answers: unknown[] = [];
      while (answers.length < 2) {
        try {
          answers.push((await llm.request()).content);
        } catch {
          // Asked again.
        }
      }
      return answers;
    });
    expect(result).toMatchObject({ status: "completed" });
    expect(outputs).toEqual([
      ["scripted 2", "scripted 4"],
      ["scripted 2", "scripted 4"],
    ]);
    expect(askedAgain).toEqual([]);
    expect(world.done).toEqual(["book room"]);
  });

  it("that overlap keep their order if one of them fails and is repeated", async () => {
    const { result, outputs, askedAgain } = await twice(refusing(0), async ({ llm }) => {
      const first = llm.request({ model: "one" }).catch(() => llm.request({ model: "one" }));
      const second = llm.request({ model: "two" });
      return (await Promise.all([first, second])).map(({ content }) => content);
    });
    expect(result).toMatchObject({ status: "completed" });
    expect(outputs).toEqual([
      ["one 2", "two 1"],
      ["one 2", "two 1"],
    ]);
    expect(askedAgain).toEqual([]);
  });

  it("that another request followed fail again with the same error details", async () => {
    const { result, outputs, askedAgain } = await twice(refusing(0, 1), async ({ llm }) => {
      const failures: unknown[] = [];
      for (const model of ["one", "two", "three"]) {
        try {
          return [...failures, (await llm.request({ model })).content];
        } catch (error) {
          const { name, message, status } = error as Overloaded;
          failures.push({ name, message, status });
        }
      }
      return failures;
    });
    expect(result).toMatchObject({ status: "completed" });
    const failure = { name: "Overloaded", message: "overloaded", status: 529 };
    expect(outputs).toEqual([
      [failure, failure, "three 2"],
      [failure, failure, "three 2"],
    ]);
    expect(askedAgain).toEqual([]);
  });

  /** Races a request that fails against two calls, and books the winner. The request fails after the calls have ended. */
  function racing(model: ReturnType<typeof refusing>) {
    const ended = gate();
    let holds = true;
    const promptExecutor: PromptExecutor = {
      execute: async (request) => {
        if (holds && request.model === "one") await ended.opened;
        return model.promptExecutor.execute(request);
      },
    };
    const race = async ({ llm, tools }: AgentContext, book: ReturnType<World["adder"]>) => {
      const failed = llm.request({ model: "one" }).catch(() => "failed");
      const called = tools
        .call(book, { item: "first" })
        .then(() => tools.call(book, { item: "second" }))
        .then(() => "called");
      const winner = await Promise.race([failed, called]);
      await tools.call(book, { item: winner as string });
      ended.open();
      holds = false;
      return { failed, winner };
    };
    return { model: { ...model, promptExecutor }, race };
  }

  it("lose the race that they lost before, if another request followed", async () => {
    const { model, race } = racing(refusing(0));
    const { result, outputs, world, askedAgain } = await twice(model, async (context, book) => {
      const { failed, winner } = await race(context, book);
      return [winner, await failed, (await context.llm.request({ model: "two" })).content];
    });
    expect(result).toMatchObject({ status: "completed" });
    expect(outputs).toEqual([
      ["called", "failed", "two 1"],
      ["called", "failed", "two 1"],
    ]);
    expect(world.done).toEqual(["book first", "book second", "book called", "book room"]);
    expect(askedAgain).toEqual([]);
  });

  it("lose the race that they lost before, if they are made again and fail at once", async () => {
    const { model, race } = racing(refusing(0, 1));
    let isFirst = true;
    const { result, outputs, world } = await twice(model, async (context, book) => {
      const { failed, winner } = await race(context, book);
      // The first process ends before the failure.
      if (!isFirst) return [winner, await failed];
      isFirst = false;
      return [winner];
    });
    expect(result).toMatchObject({ status: "completed" });
    expect(outputs).toEqual([["called"], ["called", "failed"]]);
    expect(world.done).toEqual(["book first", "book second", "book called", "book room"]);
  });

  /** Races a request that fails at once against a call, and books the winner. */
  const winning = async ({ llm, tools }: AgentContext, book: ReturnType<World["adder"]>, asksAgain: boolean) => {
    const failed = llm.request({ model: "one" }).catch(() => "failed");
    const called = tools.call(book, { item: "first" }).then(() => "called");
    const winner = await Promise.race([failed, called]);
    await tools.call(book, { item: winner as string });
    await called;
    return asksAgain ? (await llm.request({ model: "two" })).content : winner;
  };

  it("win the race that they won before, if another request followed", async () => {
    const { result, outputs, world, askedAgain } = await twice(refusing(0), (context, book) =>
      winning(context, book, true),
    );
    expect(result).toMatchObject({ status: "completed" });
    expect(outputs).toEqual(["two 1", "two 1"]);
    expect(world.done.toSorted()).toEqual(["book failed", "book first", "book room"]);
    expect(askedAgain).toEqual([]);
  });

  it.each([{ refused: [0] }, { refused: [0, 1] }])(
    "that won a race and that no request followed are made again, and the node makes no other call: $refused",
    async ({ refused }) => {
      const model = refusing(...refused);
      const again = twice(model, async (context, book) => winning(context, book, false));
      await expect(again).rejects.toMatchObject({
        code: "replay_diverged",
        found: 'a call of "book" with another input',
        effects: [{ inDoubt: false }, { inDoubt: false }, { inDoubt: false }],
      });
      expect(model.asked).toEqual(["one", "one"]);
    },
  );

  it("that failed their node are made again by a resume", async () => {
    const { result, outputs, asked, askedAgain } = await twice(refusing(0), async ({ llm }) => llm.request());
    expect(result).toMatchObject({ status: "completed" });
    expect(asked).toEqual(["scripted"]);
    expect(askedAgain).toEqual(["scripted"]);
    expect(outputs).toEqual([{ role: "assistant", content: "scripted 1" }]);
  });
});
