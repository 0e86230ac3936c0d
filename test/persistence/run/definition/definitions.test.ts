import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { World } from "../../support/World.ts";

describe("definitions that share a storage", () => {
  const world = new World();
  const agentOn = (
    storage: InMemoryPersistenceStorageProvider,
    config: Partial<ConstructorParameters<typeof AIAgent<string, string>>[0]> = {},
  ) =>
    new AIAgent({ promptExecutor: scriptedModel(["done"]), llmModel: "m", ...config }).install(Persistence, {
      storage,
    });

  it.each([
    { what: "their system prompt", other: { systemPrompt: "You do billing." } },
    { what: "their tools", other: { tools: [world.adder("refund")] } },
  ])("are refused if both have no id and they differ in $what", async ({ other }) => {
    const storage = new InMemoryPersistenceStorageProvider();
    await agentOn(storage).run("hello");
    const second = agentOn(storage, other);
    const refused = { code: "default_id_shared", agentId: "agent" };
    await expect(second.run("hello")).rejects.toMatchObject(refused);
    await expect(second.resume()).rejects.toMatchObject(refused);
    expect(() => persistence(second).agent()).toThrow(expect.objectContaining(refused));
  });

  it("work with separate ids, an agentId per call, objects of one definition, or two storages", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await agentOn(storage).run("hello");
    const billing = { systemPrompt: "You do billing." };
    expect(await agentOn(storage).run("again")).toMatchObject({ status: "completed" });
    expect(await agentOn(storage, { ...billing, id: "billing" }).run("hello")).toMatchObject({ status: "completed" });
    expect(await agentOn(storage, billing).run("hello", { agentId: "b" })).toMatchObject({ status: "completed" });
    expect(await agentOn(new InMemoryPersistenceStorageProvider(), billing).run("hello")).toMatchObject({
      status: "completed",
    });
  });
});

/** Runs an agent with Persistence as each of these configurations says, in one new process; what that process then warns of. */
async function warningsOf(...configurations: readonly string[]): Promise<readonly (readonly string[])[]> {
  const directory = await temporaryDirectory();
  onTestFinished(() => rm(directory, { recursive: true }));
  const library = await bundleWorker(directory, "../../src/index.ts");
  const program = `
    const { AIAgent, NoPersistenceStorageProvider, Persistence } = await import(${JSON.stringify(library)});
    let warnings = [];
    process.on("warning", ({ name, code, message }) => warnings.push([name, code, message].join(" ")));
    const promptExecutor = { execute: () => Promise.reject(new Error("unused")) };
    for (const config of [${configurations.join(", ")}]) {
      warnings = [];
      await new AIAgent({ promptExecutor, llmModel: "m" }).install(Persistence, config).run("go").catch(() => undefined);
      await new Promise(setImmediate);
      console.log(JSON.stringify(warnings));
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  const lines = stdout.trim().split("\n");
  return lines.map((line) =>
    (JSON.parse(line) as string[]).filter((warning) => warning.startsWith("AgentPersistenceWarning")),
  );
}

describe("Persistence without a storage", () => {
  it("warns once per process, unless a storage is deliberately omitted", async () => {
    const omitted = "{ storage: new NoPersistenceStorageProvider() }";
    expect(await warningsOf(omitted, "undefined", "{}", "{ storage: undefined }")).toEqual([
      [],
      [expect.stringMatching(/^AgentPersistenceWarning no_storage .*stores nothing/)],
      [],
      [],
    ]);
  });
});
