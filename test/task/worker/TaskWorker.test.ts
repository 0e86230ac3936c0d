import { mkdir, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceEvent,
  strategy,
} from "agent-persistence";
import {
  findOverlaps,
  InProcessReservations,
  TaskManager,
  TaskWorker,
  type FileReservation,
  type FileReservations,
  type NewTask,
  type Task,
  type TaskOutcome,
} from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { Reservations } from "agent-persistence/workspace";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { durableAgent, Fault } from "../../persistence/support/durableAgent.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { oneNode, type Body } from "./oneNode.ts";

/** Opens when it is told to. */
function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe.each(logStorages)("$name: a worker", (storage) => {
  async function setup(...given: readonly (Partial<NewTask> & { readonly taskId: string })[]) {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    for (const task of given) {
      clock.advance(1000);
      await tasks.create({ taskName: "echo", inputRequest: task.taskId, ...task });
    }
    const agent = (body: Body) => durableAgent(oneNode(body), opened());
    const outcomes: TaskOutcome[] = [];
    const onOutcome = (outcome: TaskOutcome) => outcomes.push(outcome);
    const work = (body: Body, options: Partial<ConstructorParameters<typeof TaskWorker>[0]> = {}) =>
      new TaskWorker({ tasks, agents: agent(body), onOutcome, ...options });
    const status = async (taskId: string) => (await tasks.get(taskId))?.status;
    return { opened, clock, tasks, agent, outcomes, onOutcome, work, status };
  }

  it("rejects when its agent has another storage than the tasks", async () => {
    const { tasks, status } = await setup({ taskId: "t" });
    const other = await storage.open();
    const agent = durableAgent(
      oneNode((input) => input),
      other(),
    );
    await expect(new TaskWorker({ tasks, agents: agent }).run()).rejects.toMatchObject({
      code: "other_storage",
      taskId: "t",
    });
    expect(await status("t")).toBe("queued");
  });

  it("processes the queue by priority, then by age, until it is empty", async () => {
    const { work, outcomes, status } = await setup(
      { taskId: "old" },
      { taskId: "new" },
      { taskId: "high", priority: 5 },
      { taskId: "low", priority: -1 },
    );
    const ran: string[] = [];
    await work((input) => {
      ran.push(input);
      return `${input}!`;
    }).run();
    expect(ran).toEqual(["high", "old", "new", "low"]);
    expect(outcomes).toMatchObject(
      ran.map((taskId) => ({ taskId, taskName: "echo", recovered: false, outcome: "completed", output: `${taskId}!` })),
    );
    expect(await status("low")).toBe("completed");
  });

  it("runs a new task immediately, before the next poll", async () => {
    const { tasks, work, outcomes } = await setup();
    const stop = new AbortController();
    const worker = work((input) => input, { onOutcome: (outcome) => void outcomes.push(outcome) });
    // The clock stands still, so nothing is polled.
    const run = worker.run({ pollMs: 60_000, signal: stop.signal });
    for (const taskId of ["a", "b"]) {
      await tasks.create({ taskName: "echo", inputRequest: taskId, taskId });
      await vi.waitFor(() => expect(outcomes.at(-1)).toMatchObject({ taskId, outcome: "completed" }), { interval: 2 });
    }
    stop.abort();
    await run;
  });

  it("runs tasks concurrently up to its limit", async () => {
    const { work } = await setup(...["a", "b", "c", "d", "e"].map((taskId) => ({ taskId })));
    const three = gate();
    let [now, most] = [0, 0];
    await work(
      async (input) => {
        most = Math.max(most, ++now);
        if (now === 3) three.open();
        await three.opened;
        now--;
        return input;
      },
      { concurrency: 3 },
    ).run();
    expect(most).toBe(3);
  });

  it("chooses the agent by the name of the task and warns once about unknown names", async () => {
    const { tasks, agent, status, outcomes, onOutcome } = await setup(
      { taskId: "a", taskName: "one" },
      { taskId: "b", taskName: "two" },
      { taskId: "c", taskName: "toString" },
    );
    const agents: Readonly<Record<string, AIAgent<never, unknown>>> = {
      one: agent(() => "first"),
      two: agent(() => "second"),
    };
    const worker = new TaskWorker({ tasks, agents, onOutcome });
    await worker.run();
    await worker.run();
    expect(outcomes.filter(({ outcome }) => outcome === "skipped")).toEqual([
      { taskId: "c", taskName: "toString", recovered: false, outcome: "skipped" },
    ]);
    expect(await tasks.get("a")).toMatchObject({ data: { finalOutput: "first" } });
    expect(await tasks.get("b")).toMatchObject({ data: { finalOutput: "second" } });
    expect(await status("c")).toBe("queued");
  });

  it("continues after a failed task without retrying it", async () => {
    const { work, outcomes, tasks } = await setup({ taskId: "bad" }, { taskId: "good" });
    const fault = new Fault();
    const body: Body = (input) => {
      if (input === "bad") fault.strike();
      return input;
    };
    await work(body).run();
    expect(outcomes).toMatchObject([
      { taskId: "bad", outcome: "failed", error: { message: "stopped" } },
      { taskId: "good", outcome: "completed" },
    ]);
    fault.repair();
    await work(body).run();
    expect(await tasks.get("bad")).toMatchObject({ status: "failed", data: { retryCount: 0 } });
    await tasks.retry("bad");
    await work(body).run();
    expect(await tasks.get("bad")).toMatchObject({ status: "completed" });
  });

  it("fails a task that its agent cannot start", async () => {
    const { tasks, opened, outcomes, onOutcome } = await setup({ taskId: "t" });
    const strict = strategy("strict", { input: z.number(), output: z.number() }, (g) => g.edge(g.start, g.finish));
    await new TaskWorker({ tasks, agents: durableAgent(strict as never, opened()), onOutcome }).run();
    expect(outcomes).toMatchObject([{ taskId: "t", outcome: "failed", error: { code: "invalid_input" } }]);
    expect(await tasks.get("t")).toMatchObject({ status: "failed", data: { errorType: "InvalidInputError" } });
  });

  it("fails a task with unverified output and verifies again after a retry", async () => {
    const { work, tasks, outcomes } = await setup({ taskId: "t" });
    const fault = new Fault();
    const verify = () => {
      fault.strike();
      return ["good"];
    };
    await work((input) => input, { verify }).run();
    expect(outcomes).toMatchObject([{ outcome: "failed" }]);
    expect(await tasks.get("t")).toMatchObject({ status: "failed", data: { errorMessage: "stopped" } });
    fault.repair();
    await tasks.retry("t");
    await work((input) => input, { verify }).run();
    expect(await tasks.get("t")).toMatchObject({ status: "completed", data: { verificationResults: ["good"] } });
  });

  it.each([undefined, "good", new Set(["good"])])(
    "fails a task whose verification returns %s instead of a list",
    async (given) => {
      const { work, tasks, outcomes } = await setup({ taskId: "t" });
      await work((input) => input, { verify: () => given as never }).run();
      expect(outcomes).toMatchObject([
        { outcome: "failed", error: { code: "invalid_input", subject: "verification" } },
      ]);
      expect(await tasks.get("t")).toMatchObject({ status: "failed" });
    },
  );

  it("stores the verification results", async () => {
    const { work, tasks } = await setup({ taskId: "t" });
    const seen: unknown[] = [];
    const verify = (output: unknown, taskId: string) => {
      seen.push([output, taskId]);
      return [{ lint: "clean" }, new Date(0)];
    };
    await work((input) => `${input}!`, { verify }).run();
    expect(seen).toEqual([["t!", "t"]]);
    expect(await tasks.get("t")).toMatchObject({
      status: "completed",
      data: { verificationResults: [{ lint: "clean" }, new Date(0)] },
    });
  });

  it("recovers tasks of an ended process before queued ones of the same priority, after those of a higher one", async () => {
    const { work, outcomes, agent, tasks, status } = await setup(
      { taskId: "older", priority: 1 },
      { taskId: "cut", priority: 1 },
      { taskId: "higher", priority: 9 },
    );
    const controller = new AbortController();
    const cut = agent((_input, { signal }) => {
      controller.abort(new Error("the process ends"));
      throw signal.reason as Error;
    });
    await expect(cut.resume({ agentId: "cut", signal: controller.signal })).rejects.toThrow("the process ends");
    expect(await status("cut")).toBe("in_progress");
    expect(await tasks.isResumable("cut")).toBe(true);
    await work((input) => input).run();
    expect(outcomes).toMatchObject([
      { taskId: "higher", recovered: false, outcome: "completed" },
      { taskId: "cut", recovered: true, outcome: "completed" },
      { taskId: "older", recovered: false, outcome: "completed" },
    ]);
  });

  it("skips paused, waiting and cancelled tasks", async () => {
    const { work, outcomes, tasks } = await setup({ taskId: "paused" }, { taskId: "waiting" }, { taskId: "cancelled" });
    await tasks.start("paused");
    await tasks.pause("paused", "?");
    await tasks.start("waiting");
    await tasks.wait("waiting", { waitingFor: "user_input", promptShownToUser: "?" });
    await tasks.cancel("cancelled");
    await work((input) => input).run();
    expect(outcomes).toEqual([]);
    await tasks.resume("paused");
    await work((input) => input).run();
    expect(outcomes).toMatchObject([{ taskId: "paused", outcome: "completed" }]);
  });

  it("fails tasks past their waiting time, asks again after a retry, and leaves the others waiting", async () => {
    const { tasks, clock, outcomes, onOutcome, opened } = await setup({ taskId: "asks" }, { taskId: "by hand" });
    let at = clock.now() + 60_000;
    const asks = oneNode(async (_input, context) =>
      context.requestInput({ prompt: "size?", schema: z.string(), expiresAt: new Date(at) }),
    );
    const agents = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: asks });
    agents.install(Persistence, { storage: opened(), clock });
    await tasks.start("by hand");
    const timeoutAt = new Date(at + 60_000).toISOString();
    await tasks.wait("by hand", { waitingFor: "external_api", promptShownToUser: "?", timeoutAt });
    const worker = () => new TaskWorker({ tasks, agents, onOutcome }).run();
    await worker();
    expect(outcomes.splice(0)).toMatchObject([{ taskId: "asks", outcome: "waiting" }]);
    clock.advance(59_999);
    await worker();
    expect(outcomes).toEqual([]);
    clock.advance(1);
    await worker();
    expect(outcomes.splice(0)).toMatchObject([
      { taskId: "asks", outcome: "failed", error: { code: "request_expired" } },
    ]);
    expect(await tasks.get("asks")).toMatchObject({ status: "failed", data: { recoverable: true } });
    at += 60_000;
    await tasks.retry("asks");
    await worker();
    expect(outcomes.splice(0)).toMatchObject([{ taskId: "asks", outcome: "waiting" }]);
    clock.advance(59_999);
    const [request] = await persistence(agents).agent("asks").getRequests();
    await persistence(agents).agent("asks").answer(request!.requestId, "M");
    await worker();
    expect(outcomes.splice(0)).toMatchObject([{ taskId: "asks", outcome: "completed", output: "M" }]);
    clock.advance(1);
    await worker();
    expect(outcomes).toMatchObject([{ taskId: "by hand", outcome: "failed", error: { code: "wait_expired" } }]);
    expect(await tasks.get("by hand")).toMatchObject({ status: "failed", data: { errorType: "WaitExpiredError" } });
  });

  it("continues tasks that were answered in the meantime", async () => {
    const { tasks, outcomes, onOutcome, opened } = await setup({ taskId: "t" });
    const asks = oneNode(async (_input, context) =>
      context.requestInput({ id: "size", prompt: "?", schema: z.string() }),
    );
    const agents = durableAgent(asks, opened());
    const worker = () => new TaskWorker({ tasks, agents, onOutcome }).run();
    await worker();
    expect(await tasks.get("t")).toMatchObject({
      status: "waiting",
      data: { waitingFor: "user_input", promptShownToUser: "?" },
    });
    await worker();
    const [request] = await persistence(agents).agent("t").getRequests();
    await persistence(agents).agent("t").answer(request!.requestId, "M");
    await worker();
    expect(outcomes).toMatchObject([{ outcome: "waiting" }, { outcome: "completed", output: "M" }]);
  });

  it("a task that asks several questions is not counted as ending its process", async () => {
    const { tasks, opened, outcomes, onOutcome } = await setup({ taskId: "t" });
    const asks = oneNode(async (_input, context) => {
      const answers: string[] = [];
      for (let at = 0; at < 7; at++) answers.push(await context.requestInput({ prompt: `${at}?`, schema: z.string() }));
      return answers.join("");
    });
    const agents = durableAgent(asks, opened());
    for (let at = 0; at < 7; at++) {
      await new TaskWorker({ tasks, agents, onOutcome }).run();
      expect(outcomes.at(-1)).toMatchObject({ outcome: "waiting" });
      const [request] = await persistence(agents).agent("t").getRequests();
      await persistence(agents).agent("t").answer(request!.requestId, `${at}`);
    }
    await new TaskWorker({ tasks, agents, onOutcome }).run();
    expect(outcomes.at(-1)).toMatchObject({ outcome: "completed", output: "0123456" });
  });

  it("skips a task that was paused after it was listed", async () => {
    const { agent, tasks, status } = await setup({ taskId: "t" });
    await tasks.start("t");
    await tasks.pause("t", "?");
    const late = agent((input) => input).resume({ agentId: "t", ifStatus: ["queued", "in_progress"] });
    await expect(late).rejects.toMatchObject({ code: "status_changed", status: "paused" });
    expect(await status("t")).toBe("paused");
  });

  it("reports a task that failed directly before the worker was stopped as failed", async () => {
    const { opened, tasks, outcomes, onOutcome, status } = await setup({ taskId: "t" });
    const stop = new AbortController();
    const failing = oneNode(() => Promise.reject(new Error("failed")));
    const onEvent = (event: PersistenceEvent) => {
      if (event.type === "status_changed" && event.status === "failed") stop.abort();
    };
    const agents = durableAgent(failing, opened(), { onEvent });
    await new TaskWorker({ tasks, agents, onOutcome }).run({ signal: stop.signal });
    expect(await status("t")).toBe("failed");
    expect(outcomes).toMatchObject([{ outcome: "failed", error: { message: "failed" } }]);
  });

  it("is disposed inside onOutcome after its other tasks were interrupted", async () => {
    const { work, status, outcomes } = await setup({ taskId: "a" }, { taskId: "b" }, { taskId: "c" });
    const atDisposal: unknown[] = [];
    const worker = work(
      (input, { signal }) =>
        input === "a"
          ? input
          : new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      {
        concurrency: 3,
        onOutcome: async (outcome) => {
          outcomes.push(outcome);
          await worker[Symbol.asyncDispose]();
          atDisposal.push(await status("b"), await status("c"), outcomes.length);
        },
      },
    );
    await worker.run({ pollMs: 1_000 });
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["completed", "interrupted", "interrupted"]);
    expect(atDisposal).toEqual(Array.from({ length: 3 }, () => ["in_progress", "in_progress", 3]).flat());
  });

  it("is disposed inside onOutcome while it polls", async () => {
    const { work } = await setup({ taskId: "a" });
    const worker = work((input) => input, { agents: {}, onOutcome: () => worker[Symbol.asyncDispose]() });
    await worker.run({ pollMs: 1_000 });
    await expect(worker.run()).rejects.toThrow("The worker was disposed.");
  });

  it("interrupts its tasks when it is stopped or disposed, and they stay in progress", async () => {
    for (const stop of ["signal", "dispose"]) {
      const { work, outcomes, status } = await setup({ taskId: "t" });
      const begun = gate();
      const worker = work(async (_input, { signal }) => {
        begun.open();
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      });
      const controller = new AbortController();
      const running = worker.run({ signal: controller.signal });
      await begun.opened;
      if (stop === "signal") controller.abort(new Error("enough"));
      else await worker[Symbol.asyncDispose]();
      await running;
      expect(outcomes).toMatchObject([{ taskId: "t", outcome: "interrupted" }]);
      expect(await status("t")).toBe("in_progress");
    }
  });

  it("polls on request and ends when it is stopped", async () => {
    const { tasks, clock, agent } = await setup();
    const controller = new AbortController();
    const outcomes: string[] = [];
    const worker = new TaskWorker({
      tasks,
      agents: agent((input) => input),
      onOutcome: ({ taskId }) => {
        outcomes.push(taskId);
        controller.abort();
      },
    });
    const after = clock.after.bind(clock);
    const idle = new Promise<void>((resolve) => {
      vi.spyOn(clock, "after").mockImplementation((ms, callback) => {
        if (ms === 1000) resolve();
        return after(ms, callback);
      });
    });
    const looks = vi.spyOn(tasks, "claimable");
    const running = worker.run({ signal: controller.signal, pollMs: 1000 });
    await idle;
    expect(looks).toHaveBeenCalledTimes(1);
    await tasks.create({ taskId: "late", taskName: "echo", inputRequest: "in" });
    clock.advance(1000);
    await running;
    expect(outcomes).toEqual(["late"]);
    expect(looks.mock.calls.length).toBeGreaterThan(1);
  });

  it("warns of a listener that throws and continues", async () => {
    const { work, status } = await setup({ taskId: "a" }, { taskId: "b" });
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    await work((input) => input, {
      onOutcome: () => {
        throw new RangeError("broken listener");
      },
    }).run();
    expect((await warned).message).toContain("broken listener");
    expect([await status("a"), await status("b")]).toEqual(["completed", "completed"]);
  });

  it("shares the tasks with other workers, and each task runs once", async () => {
    const ids = Array.from({ length: 20 }, (_unused, index) => `t${index}`);
    const { tasks, opened, outcomes, onOutcome } = await setup(...ids.map((taskId) => ({ taskId })));
    const ran: string[] = [];
    const workers = [1, 2, 3].map(() => {
      const agents = durableAgent(
        oneNode((input) => (ran.push(input), input)),
        opened(),
      );
      return new TaskWorker({ tasks: new TaskManager({ storage: opened() }), agents, concurrency: 2, onOutcome });
    });
    await Promise.all(workers.map((worker) => worker.run()));
    expect(ran.toSorted()).toEqual(ids.toSorted());
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(ids.map(() => "completed"));
    for await (const task of tasks.list()) expect(task.status).toBe("completed");
  });
});

describe.each(logStorages)("$name: tasks that reserve files", (storage) => {
  it("wait in the queue while their files are reserved, and others run first", async () => {
    const opened = await storage.open();
    const tasks = new TaskManager({ storage: opened() });
    const plan: readonly (readonly [string, readonly FileReservation[]])[] = [
      ["writes a", [{ path: "a", operation: "write" }]],
      ["reads a", [{ path: "a", operation: "read" }]],
      ["reads a too", [{ path: "a", operation: "read" }]],
      ["writes b", [{ path: "b", operation: "write" }]],
    ];
    for (const [index, [taskId, reserves]] of plan.entries())
      await tasks.create({ taskId, taskName: "n", inputRequest: taskId, reserves, priority: -index });
    const running = new Set<string>();
    const together: string[] = [];
    const [a, b] = [gate(), gate()];
    const body: Body = async (input) => {
      running.add(input);
      together.push([...running].toSorted().join(" + "));
      if (input === "writes a") {
        a.open();
        await b.opened;
      }
      if (input === "writes b") {
        b.open();
        await a.opened;
      }
      running.delete(input);
      return input;
    };
    const agents = durableAgent(oneNode(body), opened());
    await new TaskWorker({ tasks, agents, concurrency: 4 }).run();
    expect(together.some((names) => names.includes("writes a") && names.includes("reads a"))).toBe(false);
    expect(together).toContain("writes a + writes b");
    for await (const task of tasks.list()) expect(task.status).toBe("completed");
  });

  it.each([
    ["of one process", async () => new InProcessReservations()],
    ["of the workspace", async () => new Reservations({ directory: await testDirectory() })],
  ])("stay queued while somebody else holds their files: reservations %s", async (_name, reservationsOf) => {
    const opened = await storage.open();
    const tasks = new TaskManager({ storage: opened() });
    const reserves = [{ path: "a", operation: "write" }] as const;
    await tasks.create({ taskId: "t", taskName: "n", inputRequest: "in", reserves });
    const reservations: FileReservations = await reservationsOf();
    const person = { owner: "a person", keepAlive: true } as const;
    const held = await reservations.acquire([{ path: "a", operation: "read" }], person);
    const worker = () =>
      new TaskWorker({
        tasks,
        agents: durableAgent(
          oneNode((input) => input),
          opened(),
        ),
        reservations,
      });
    await worker().run();
    expect(await tasks.get("t")).toMatchObject({ status: "queued" });
    await held.release();
    await worker().run();
    expect(await tasks.get("t")).toMatchObject({ status: "completed" });
    const next = await reservations.acquire(reserves, { ...person, owner: "the next" });
    await expect(reservations.acquire(reserves, person)).rejects.toThrow("the next");
    await expect(reservations.acquire([{ path: "./a", operation: "read" }], person)).rejects.toThrow("the next");
    await next.release();
  });
});

describe("overlaps of planned tasks", () => {
  const task = (name: string, ...files: readonly string[]) => ({
    name,
    reserves: files.map(
      (file) => ({ path: file.slice(2), operation: file.startsWith("w") ? "write" : "read" }) as const,
    ),
  });
  const overlaps = (...tasks: readonly { readonly name: string; readonly reserves?: readonly FileReservation[] }[]) =>
    findOverlaps(tasks).map(({ path, tasks: [one, other] }) => `${one.name}-${other.name}: ${path}`);

  it("exist if one task writes a file that the other touches", () => {
    expect(overlaps(task("a", "r x"), task("b", "r x"), { name: "c" })).toEqual([]);
    expect(overlaps(task("a", "w x", "w y"), task("b", "r x", "r z"), task("c", "w y", "r x"))).toEqual([
      "a-b: x",
      "a-c: x",
      "a-c: y",
    ]);
    expect(overlaps(task("a", "r x", "w x"), task("b", "w x"))).toEqual(["a-b: x"]);
  });

  it("are found for any spelling of a path", () => {
    expect(overlaps(task("a", "w x/y"), task("b", "w ./x//y"), task("c", "r x/z/../y"))).toEqual([
      "a-b: x/y",
      "a-c: x/y",
      "b-c: ./x//y",
    ]);
    expect(overlaps(task("a", "w x"), task("b", "w ../x"), task("c", "w /x"))).toEqual([]);
  });

  it("are found between a relative path, its absolute path and a path through a link", async () => {
    const root = await testDirectory();
    await mkdir(join(root, "folder"));
    await symlink("folder", join(root, "link"));
    const planned = [task("a", "w folder/x"), task("b", `r ${join(root, "folder/x")}`), task("c", "r link/x")];
    const found = findOverlaps(planned, { root });
    expect(found.map(({ tasks: [one, other] }) => `${one.name}-${other.name}`)).toEqual(["a-b", "a-c"]);
    expect(overlaps(task("a", "w x"), task("b", `w ${resolve("x")}`))).toEqual(["a-b: x"]);
    const reservations = new InProcessReservations({ root });
    const held = await reservations.acquire(planned[0]!.reserves, { owner: "a" });
    for (const { reserves } of planned.slice(1))
      await expect(reservations.acquire(reserves, { owner: "b" })).rejects.toMatchObject({ code: "file_reserved" });
    await held.release();
  });

  it("are found between queued tasks from the manager's list", async () => {
    const tasks = new TaskManager({ storage: new InMemoryPersistenceStorageProvider() });
    for (const taskName of ["a", "b"])
      await tasks.create({ taskName, inputRequest: "go", reserves: task("", "w x").reserves });
    const listed: Task[] = [];
    for await (const each of tasks.list({ status: "queued" })) listed.push(each);
    expect(findOverlaps(listed).map(({ path }) => path)).toEqual(["x"]);
  });
});

it("a disposed worker refuses to run", async () => {
  const tasks = new TaskManager({ storage: new InMemoryPersistenceStorageProvider() });
  const worker = new TaskWorker({ tasks, agents: {} });
  await worker[Symbol.asyncDispose]();
  await expect(worker.run()).rejects.toThrow("The worker was disposed.");
});

it("an invalid concurrency is refused", async () => {
  const [memory] = logStorages;
  const storage = (await memory!.open())();
  const tasks = new TaskManager({ storage });
  for (const concurrency of [0, 1.5, Number.NaN])
    expect(() => new TaskWorker({ tasks, agents: {}, concurrency })).toThrow("a whole number from 1 on");
});
