import { AIAgent, Persistence, persistence, type PersistenceStorageProvider, type WhenBusy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it, type MockInstance, vi } from "vitest";
import { soonerClock } from "../../internal/soonerClock.ts";
import { fileStorage, memory } from "../support/storages.ts";

/** An agent whose model waits for each message until that message is let go, and answers with it. */
class Desk {
  readonly #gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();
  readonly #begun = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();
  readonly asked: string[] = [];

  agentOn(storage: PersistenceStorageProvider) {
    return new AIAgent({
      id: "a",
      llmModel: "m",
      promptExecutor: {
        execute: async ({ messages, abortSignal }) => {
          const said = messages.at(-1)?.content as string;
          this.asked.push(said);
          this.#gate(this.#begun, said).open();
          await Promise.race([this.#gate(this.#gates, said).opened, aborted(abortSignal)]);
          return { message: { role: "assistant", content: `on ${said}` } };
        },
      },
    }).install(Persistence, { storage });
  }

  /** Lets the model answer a message. */
  letGo(...said: readonly string[]): void {
    for (const each of said) this.#gate(this.#gates, each).open();
  }

  /** Resolves when the model was asked. */
  begun(said: string): Promise<void> {
    return this.#gate(this.#begun, said).opened;
  }

  #gate(gates: Map<string, { readonly opened: Promise<void>; readonly open: () => void }>, name: string) {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const gate = gates.get(name) ?? { opened, open };
    gates.set(name, gate);
    return gate;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
}

/** A run in another process is noticed at the next renewal of the lease. */
const file = fileStorage(soonerClock);

/** Two of one process share a storage; those of different processes have one each, over the same data. */
const places = ["in one process", "in two processes"] as const;
const cases = [memory, file].flatMap((storage) =>
  places
    .map((place) => ({ storage, place, name: storage.name }))
    .filter(({ name, place }) => name !== "memory" || place === places[0]),
);

describe.each(cases)("$name: a second run while another run is in progress, $place", ({ storage, place }) => {
  const start = async () => {
    const opened = await storage.open();
    const provider = opened();
    const desk = new Desk();
    const opens: MockInstance[] = [];
    const separate = () => {
      const own = opened();
      opens.push(vi.spyOn((own as LogPersistenceStorageProvider).log, "open"));
      return own;
    };
    const agent = () => desk.agentOn(place === "in one process" ? provider : separate());
    /** Resolves when so many other processes have found the agent busy. */
    const refused = (count: number) =>
      vi.waitFor(
        () => {
          // A call has looked at the run of the other owner before its second attempt.
          const refusals = opens.map(
            ({ mock }) => mock.settledResults.filter(({ type }) => type === "rejected").length,
          );
          const found = refusals.filter((times) => times >= 2);
          expect(found).toHaveLength(count);
        },
        { timeout: 60_000 },
      );
    const first = agent();
    const ask = (said: string, whenBusy?: WhenBusy, signal?: AbortSignal) =>
      (said === "one" ? first : agent()).run(said, { runId: said, history: "continue", whenBusy, signal });
    const one = ask("one");
    one.catch(() => undefined);
    await desk.begun("one");
    return { desk, agent, ask, one, refused };
  };

  it.each([undefined, "reject"] as const)("is refused with whenBusy %s and a correct error", async (whenBusy) => {
    const { desk, ask, one } = await start();
    const refused: unknown = await ask("two", whenBusy).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "agent_busy", inThisProcess: place === "in one process" });
    if (place === "in one process") expect(String(refused)).not.toContain("died");
    desk.letGo("one");
    expect(await one).toMatchObject({ output: "on one" });
  });

  it("refuses a run in the same tick with a correct error", async () => {
    const desk = new Desk();
    const opened = await storage.open();
    const first = desk.agentOn(opened());
    const second = place === "in one process" ? first : desk.agentOn(opened());
    desk.letGo("one", "two");
    const runs = await Promise.allSettled([first.run("one"), second.run("two")]);
    const refused = runs.flatMap((run) => (run.status === "rejected" ? [run.reason as unknown] : []));
    expect(refused).toMatchObject([{ code: "agent_busy", inThisProcess: place === "in one process" }]);
  });

  it("makes a rollback fail with a correct error", async () => {
    const { desk, agent, one } = await start();
    const durable = persistence(agent()).agent();
    const refused: unknown = await durable.rollbackToCheckpoint("none").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "agent_busy", inThisProcess: place === "in one process" });
    desk.letGo("one");
    expect(await one).toMatchObject({ output: "on one" });
  });

  it("waits its turn with queue", async () => {
    const { desk, agent, ask, one } = await start();
    const later = [ask("two", "queue")];
    desk.letGo("one", "two", "three");
    // Between processes the order is open, so that the third one comes when the second one is done.
    if (place === "in two processes") await later[0];
    later.push(ask("three", "queue"));
    expect(await Promise.all([one, ...later])).toMatchObject([
      { output: "on one" },
      { output: "on two" },
      { output: "on three" },
    ]);
    expect(desk.asked).toEqual(["one", "two", "three"]);
    expect(await persistence(agent()).agent().getMessages()).toHaveLength(6);
  });

  it("leaves the queue when it is aborted", async () => {
    const { desk, ask, one } = await start();
    const leaving = new AbortController();
    const two = ask("two", "queue", leaving.signal);
    const three = ask("three", "queue");
    leaving.abort(new Error("gone"));
    await expect(two).rejects.toThrow("gone");
    desk.letGo("one", "three");
    expect(await Promise.all([one, three])).toMatchObject([{ output: "on one" }, { output: "on three" }]);
    expect(desk.asked).toEqual(["one", "three"]);
  });

  it("gets the result of the first run with join", async () => {
    const { desk, agent, ask, one, refused } = await start();
    const joined = [ask("two", "join"), ask("three", "join")];
    // A call that begins after the run has ended starts a run.
    if (place === "in two processes") await refused(2);
    desk.letGo("one");
    const result = { status: "completed", runId: "one", output: "on one" };
    expect(await Promise.all([one, ...joined])).toMatchObject([result, result, result]);
    expect(desk.asked).toEqual(["one"]);
    expect(await persistence(agent()).agent().getMessages()).toHaveLength(2);
  });

  it("replaces the first run with replace", async () => {
    const { desk, agent, ask, one } = await start();
    const two = ask("two", "replace");
    desk.letGo("two");
    expect(await two).toMatchObject({ status: "completed", output: "on two" });
    await expect(one).rejects.toMatchObject({ code: "stop_requested" });
    expect(desk.asked).toEqual(["one", "two"]);
    await expect(agent().run("one", { runId: "one" })).rejects.toMatchObject({ code: "nothing_to_resume" });
  });
});

describe.each([memory, file])("$name: runs that wait for a run in progress", (storage) => {
  it("start after the run that replaces it", async () => {
    const provider = (await storage.open())();
    const desk = new Desk();
    const agent = desk.agentOn(provider);
    const one = agent.run("one", { runId: "one" });
    await desk.begun("one");
    const queued = agent.run("queued", { runId: "queued", whenBusy: "queue" });
    const two = agent.run("two", { runId: "two", whenBusy: "replace" });
    const three = agent.run("three", { runId: "three", whenBusy: "replace" });
    desk.letGo("three", "queued");
    const ends = await Promise.allSettled([one, two, three, queued]);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled", "fulfilled"]);
    expect(desk.asked.slice(-2)).toEqual(["three", "queued"]);
  });

  it("continue a stopped run with the same input, unless they replace it", async () => {
    const provider = (await storage.open())();
    const desk = new Desk();
    const agent = desk.agentOn(provider);
    const one = agent.run("hello", { runId: "one" });
    one.catch(() => undefined);
    await desk.begun("hello");
    const two = agent.run("hello", { whenBusy: "replace" });
    desk.letGo("hello");
    const result = await two;
    expect(result).toMatchObject({ output: "on hello" });
    expect(result.runId).not.toBe("one");
    expect(desk.asked).toEqual(["hello", "hello"]);
  });
});
