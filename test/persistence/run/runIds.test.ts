import {
  AIAgent,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  type PromptExecutor,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it, vi } from "vitest";
import { logStorages, storages } from "../support/storages.ts";

/** A model that answers when it is told to, and counts. */
function gated() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let asked = 0;
  const promptExecutor: PromptExecutor = {
    async execute() {
      asked++;
      begin();
      await opened;
      return { message: { role: "assistant", content: `answer ${asked}` } };
    },
  };
  return { promptExecutor, open, begun, asked: () => asked };
}

function failing(times: number): PromptExecutor {
  let asked = 0;
  return {
    async execute() {
      if (asked++ < times) throw new Error("down");
      return { message: { role: "assistant", content: "up" } };
    },
  };
}

const agentOn = (storage: PersistenceStorageProvider, promptExecutor: PromptExecutor) =>
  new AIAgent({ id: "a", promptExecutor, llmModel: "m" }).install(Persistence, { storage });

describe.each(storages)("$name: a runId", (storage) => {
  it("of a finished run returns the recorded output, and is refused with another input", async () => {
    const opened = await storage.open();
    const agent = () => agentOn(opened(), failing(0));
    await agent().run("one", { runId: "r" });
    const differs = { code: "run_input_differs", agentId: "a", runId: "r" };
    await expect(agent().run("two", { runId: "r" })).rejects.toMatchObject(differs);
    await agent().run("later", { runId: "s" });
    await expect(agent().run("two", { runId: "r" })).rejects.toMatchObject(differs);
    expect(await agent().run("one", { runId: "r" })).toMatchObject({ status: "completed", output: "up" });
    expect(await agent().resume()).toMatchObject({ runId: "s", output: "up" });
  });

  it("of an unfinished run resumes the run, and is refused with another input", async () => {
    const opened = await storage.open();
    const model = failing(1);
    const agent = () => agentOn(opened(), model);
    await expect(agent().run("one", { runId: "r" })).rejects.toThrow("down");
    const before = await persistence(agent()).agent().getCheckpoints();
    await expect(agent().run("two", { runId: "r" })).rejects.toMatchObject({ code: "run_input_differs" });
    expect(await persistence(agent()).agent().getCheckpoints()).toHaveLength(before.length);
    expect(await agent().run("one", { runId: "r" })).toMatchObject({ output: "up" });
  });
});

describe.each(logStorages)("$name: a runId that is running in this process", (storage) => {
  it("gives a second call the result of the first, even by another object of the definition", async () => {
    const opened = await storage.open();
    const provider = opened();
    const model = gated();
    const agent = agentOn(provider, model.promptExecutor);
    const first = agent.run("one", { runId: "r" });
    const second = agentOn(provider, model.promptExecutor).run("one", { runId: "r" });
    await model.begun;
    const third = agent.run("one", { runId: "r" });
    await expect(agent.run("two", { runId: "r" })).rejects.toMatchObject({ code: "run_input_differs" });
    await expect(agent.run("one", { runId: "s" })).rejects.toMatchObject({ code: "agent_busy" });
    model.open();
    const result = { status: "completed", runId: "r", output: "answer 1" };
    expect(await Promise.all([first, second, third])).toEqual([result, result, result]);
    expect(model.asked()).toBe(1);
    expect(await agent.run("one", { runId: "r" })).toEqual(result);
  });

  it("opens the agent once for concurrent calls that get the recorded result", async () => {
    const provider = (await storage.open())() as LogPersistenceStorageProvider;
    await agentOn(provider, failing(0)).run("one", { runId: "r" });
    const opens = vi.spyOn(provider.log, "open");
    const calls = Array.from({ length: 20 }, () => agentOn(provider, failing(0)).run("one", { runId: "r" }));
    expect(new Set((await Promise.all(calls)).map(({ runId }) => runId))).toEqual(new Set(["r"]));
    expect(opens.mock.calls).toHaveLength(1);
  });

  it("gives a second call the error of the first, and is retried by the next call", async () => {
    const agent = agentOn((await storage.open())(), failing(1));
    const calls = [agent.run("one", { runId: "r" }), agent.run("one", { runId: "r" })];
    expect(await Promise.allSettled(calls)).toMatchObject([
      { status: "rejected", reason: { message: "down" } },
      { status: "rejected", reason: { message: "down" } },
    ]);
    expect(await agent.run("one", { runId: "r" })).toMatchObject({ output: "up" });
  });

  it("is run by the second call if the caller of the first has aborted", async () => {
    const { promptExecutor, begun } = waitingForAbort();
    const agent = agentOn((await storage.open())(), promptExecutor);
    const controller = new AbortController();
    const first = agent.run("one", { runId: "r", signal: controller.signal });
    const second = agent.run("one", { runId: "r" });
    await begun;
    controller.abort(new Error("gone"));
    await expect(first).rejects.toThrow("gone");
    expect(await second).toMatchObject({ output: "up" });
  });

  it("lets a second call be aborted without ending the first", async () => {
    const model = gated();
    const agent = agentOn((await storage.open())(), model.promptExecutor);
    const first = agent.run("one", { runId: "r" });
    const controller = new AbortController();
    const second = agent.run("one", { runId: "r", signal: controller.signal });
    controller.abort(new Error("gone"));
    await expect(second).rejects.toThrow("gone");
    model.open();
    expect(await first).toMatchObject({ output: "answer 1" });
  });

  it("gives a run the result of a resume in progress", async () => {
    const opened = await storage.open();
    const provider = opened();
    await expect(agentOn(provider, failing(1)).run("one", { runId: "r" })).rejects.toThrow("down");
    const model = gated();
    const agent = agentOn(provider, model.promptExecutor);
    const resumed = agent.resume();
    await model.begun;
    const second = agent.run("one", { runId: "r" });
    await expect(agent.run("two", { runId: "r" })).rejects.toMatchObject({ code: "run_input_differs" });
    model.open();
    expect(await Promise.all([resumed, second])).toMatchObject([{ output: "answer 1" }, { output: "answer 1" }]);
    expect(model.asked()).toBe(1);
  });
});

/** A model that answers the second request; the first waits for its abort. */
function waitingForAbort() {
  let asked = 0;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const promptExecutor: PromptExecutor = {
    execute({ abortSignal }) {
      if (asked++ > 0) return Promise.resolve({ message: { role: "assistant", content: "up" } });
      return new Promise((_resolve, reject) => {
        abortSignal.addEventListener("abort", () => reject(abortSignal.reason));
        begin();
      });
    },
  };
  return { promptExecutor, begun };
}
