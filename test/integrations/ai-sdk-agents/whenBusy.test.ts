import { rm } from "node:fs/promises";
import { InMemoryPersistenceStorageProvider, type PersistenceStorageProvider, type WhenBusy } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { soonerClock } from "../../internal/soonerClock.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { wholeSoak } from "../../soak/cases.ts";
import { Gate } from "./support/gate.ts";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

/** A desk whose tool waits at a gate for order 1, and answers at once for all others. */
function openDesk(sdk: Sdk, storage: NonNullable<PersistenceStorageProvider>, gate = new Gate()) {
  const { tool, ToolLoopAgent } = sdk.ai;
  const model = scriptedModel([[calling("find", {})], text("Found.")], sdk);
  const find = tool({
    inputSchema: z.object({}),
    execute: async (_input, { messages, abortSignal }) => {
      const [{ content } = { content: "" }] = messages;
      if (JSON.stringify(content).includes("Find 1.")) await Promise.race([gate.pass(), aborted(abortSignal)]);
      return JSON.stringify(content);
    },
  });
  const desk = durableAgent(
    { storage: storage as InMemoryPersistenceStorageProvider },
    (durable) =>
      new ToolLoopAgent({
        model: durable.model(model),
        tools: durable.tools({ find }, { find: { effect: "idempotent" } }),
      }),
  );
  return { desk, model };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
}

const places = ["in one process", "in two processes"] as const;
const all = sdks.flatMap((sdk) => places.map((place) => ({ sdk, place, version: sdk.version })));
/** `npm test` has each version and each place once. */
const cases = all.filter(({ version, place }) => wholeSoak || (version === 6) === (place === "in one process"));

describe.each(cases)("a second message to a durable agent of the AI SDK $version, $place", ({ sdk, place }) => {
  const start = async () => {
    const directory = await temporaryDirectory();
    onTestFinished(() => rm(directory, { recursive: true }));
    const memory = new InMemoryPersistenceStorageProvider();
    const storage = () =>
      place === "in one process" ? memory : new FilePersistenceStorageProvider({ directory, clock: soonerClock });
    const gate = new Gate();
    const { desk } = openDesk(sdk, storage(), gate);
    const first = await desk.for("a").stream({ prompt: "Find 1." });
    await gate.reached;
    const server = place === "in one process" ? desk : openDesk(sdk, storage()).desk;
    const ask = (whenBusy: WhenBusy) => server.for("a", { whenBusy });
    return { gate, first, ask };
  };

  /** The order that the tool was asked for. */
  const foundIn = async (result: { readonly steps: PromiseLike<readonly StepResults[]> | readonly StepResults[] }) =>
    (await result.steps)[0]?.toolResults[0]?.output;

  it("is refused with reject", async () => {
    const { gate, first, ask } = await start();
    await expect(ask("reject").generate({ prompt: "Find 2." })).rejects.toMatchObject({ code: "agent_busy" });
    gate.open();
    expect(await foundIn(first)).toContain("Find 1.");
  });

  it.each(["generate", "stream"] as const)("waits for its turn with queue in %s", async (how) => {
    const { gate, first, ask } = await start();
    const second = ask("queue")[how]({ prompt: "Find 2." });
    gate.open();
    expect(await foundIn(await second)).toContain("Find 2.");
    expect(await foundIn(first)).toContain("Find 1.");
  });

  it.each(["generate", "stream"] as const)("gets the run in progress with join in %s", async (how) => {
    const { gate, first, ask } = await start();
    const second = ask("join")[how]({ prompt: "Find 2." });
    if (how === "stream") await second;
    gate.open();
    expect(await foundIn(await second)).toContain("Find 1.");
    expect(await foundIn(first)).toContain("Find 1.");
  });

  it("replaces the run in progress with replace", async () => {
    const { first, ask } = await start();
    expect(await foundIn(await ask("replace").stream({ prompt: "Find 2." }))).toContain("Find 2.");
    const types: string[] = [];
    for await (const { type } of first.fullStream) types.push(type);
    expect(types.at(-1)).toBe("abort");
  });
});

interface StepResults {
  readonly toolResults: readonly { readonly output: unknown }[];
}

describe.each(sdks)("a client that reconnects after a restart, with the AI SDK $version", (sdk) => {
  it("gets the stream of an interrupted run, even if no call has resumed the run yet", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    // The response that calls the tool is stored, and nothing after it.
    await openDesk(sdk, crashAfter(storage, 2))
      .desk.for("a")
      .stream({ prompt: "Find 2." })
      .then((result) => result.consumeStream());
    const { desk, model } = openDesk(sdk, storage);
    const clients = await Promise.all([desk.for("a").attach(), desk.for("a").attach()]);
    expect(await Promise.all(clients.map(async (client) => client?.text))).toEqual(["Found.", "Found."]);
    expect(model.asked).toHaveLength(1);
    expect(await desk.for("a").attach()).toBeUndefined();
  });

  it("gets no stream of a run that failed in this process", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { desk } = openDesk(sdk, storage);
    const leaving = new AbortController();
    leaving.abort(new Error("gone"));
    await expect(desk.for("a").generate({ prompt: "Find 2.", abortSignal: leaving.signal })).rejects.toThrow("gone");
    expect(await desk.for("a").attach()).toBeUndefined();
  });
});
