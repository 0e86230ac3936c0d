import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  type ToolCallInDoubtError,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { falseIfCrash, isCrash } from "../support/causesOf.ts";
import { scenarios, type Scenario, type ScenarioOptions } from "../support/scenarios.ts";
import { latestOf, recordedCalls, restoredBy } from "../support/stored.ts";
import { logStorages, storages, type TestStorage } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { every } from "../../soak/cases.ts";

const runOptions = { runId: "run-1" };

/** A run that nothing disturbs. */
async function undisturbed(scenario: Scenario, storage: TestStorage, options: ScenarioOptions) {
  const world = new World();
  const opened = await storage.open();
  const agent = scenario.build(world, opened(), options);
  const result = await agent.run("go", runOptions);
  return { world, result, state: restoredBy(await latestOf(agent)) };
}

/** Runs in a process that ends after a number of saves; true when the run was over before. */
async function survives(
  scenario: Scenario,
  world: World,
  storage: Parameters<Scenario["build"]>[1],
  options: ScenarioOptions,
  saves: number,
): Promise<boolean> {
  try {
    await scenario.build(world, crashAfter(storage, saves), options).run("go", runOptions);
    return true;
  } catch (error) {
    return falseIfCrash(error);
  }
}

/** A process ends after each of so many saves. */
const stride = every(3, 1);

const models = ["repeating", "unique"] as const;

describe.each(logStorages)("$name: a crash between any two saves", (storage) => {
  describe.each(scenarios)("$name", (scenario) => {
    it.each(models)("repeats no finished node and no finished call (%s ids of the model)", async (ids) => {
      const options = { effect: "idempotent", ids } as const;
      const whole = await undisturbed(scenario, storage, options);
      for (let saves = 0, over = false; !over; saves += stride) {
        const world = new World();
        const opened = await storage.open();
        over = await survives(scenario, world, opened(), options, saves);
        const { ended } = await recordedCalls(opened() as LogPersistenceStorageProvider);
        const [before, nodesBefore] = [world.executed.length, world.nodes.length];
        const agent = scenario.build(world, opened(), options);
        const saved = await latestOf(agent).catch(() => undefined);
        expect(await agent.run("go", runOptions)).toEqual(whole.result);
        expect(world.executed.slice(before).filter((id) => ended.has(id))).toEqual([]);
        expect(world.nodes.slice(nodesBefore)).toEqual(whole.world.nodes.slice(saved?.iteration ?? 0));
        expect(new Set(world.executed)).toEqual(new Set(whole.world.executed));
        expect(world.effects).toEqual(whole.world.effects);
        expect(restoredBy(await latestOf(agent))).toEqual(whole.state);
      }
    });

    it.each([2, 3, 5])("leaves a run that ends undisturbed if every process ends after %i saves", async (saves) => {
      const options = { effect: "idempotent", ids: "unique" } as const;
      const whole = await undisturbed(scenario, storage, options);
      const world = new World();
      const opened = await storage.open();
      while (!(await survives(scenario, world, opened(), options, saves)));
      expect(world.effects).toEqual(whole.world.effects);
      expect(restoredBy(await latestOf(scenario.build(world, opened(), options)))).toEqual(whole.state);
    });

    it.each(["irreversible", "reversible"] as const)("stops the run only at an %s call in doubt", async (effect) => {
      const options = { effect, ids: "unique" } as const;
      const whole = await undisturbed(scenario, storage, options);
      let doubts = 0;
      for (let saves = 0, over = false; !over; saves += stride) {
        const world = new World();
        const opened = await storage.open();
        over = await survives(scenario, world, opened(), options, saves);
        const { inDoubt } = await recordedCalls(opened() as LogPersistenceStorageProvider);
        const doubted = [...inDoubt].filter((id) => whole.world.effects.get(id)?.tool !== "plan");
        const outcome = await scenario
          .build(world, opened(), options)
          .run("go", runOptions)
          .then(
            (result) => ({ result, effects: world.effects }),
            (error: ToolCallInDoubtError) => ({ code: error.code, isOneOf: doubted.includes(error.toolCallId) }),
          );
        const completed = { result: whole.result, effects: whole.world.effects };
        expect(outcome).toEqual(doubted.length > 0 ? { code: "tool_call_in_doubt", isOneOf: true } : completed);
        const repeated = world.executed.filter((id, at) => world.executed.indexOf(id) !== at);
        expect(repeated.filter((id) => isOnceOnly(whole.world, id))).toEqual([]);
        doubts += doubted.length;
      }
      expect(doubts).toBeGreaterThan(0);
    });

    it("lets a run continue from requested checkpoints alone, with every recorded call", async () => {
      const options = { effect: "idempotent", ids: "unique", automatic: false } as const;
      const whole = await undisturbed(scenario, storage, options);
      for (let saves = 0, over = false; !over; saves += stride) {
        const world = new World();
        const opened = await storage.open();
        over = await survives(scenario, world, opened(), options, saves);
        const { ended } = await recordedCalls(opened() as LogPersistenceStorageProvider);
        const before = world.executed.length;
        const agent = scenario.build(world, opened(), options);
        expect(await agent.run("go", runOptions)).toEqual(whole.result);
        expect(world.executed.slice(before).filter((id) => ended.has(id))).toEqual([]);
        expect(world.effects).toEqual(whole.world.effects);
        expect(restoredBy(await latestOf(agent))).toEqual(whole.state);
      }
    });
  });
});

describe.each(storages)("$name: a crash between any two checkpoints", (storage) => {
  it.each(scenarios)("repeats no finished node: $name", async (scenario) => {
    const options = { effect: "idempotent", ids: "repeating" } as const;
    const whole = await undisturbed(scenario, storage, options);
    for (let saves = 0, over = false; !over; saves += stride) {
      const world = new World();
      const opened = await storage.open();
      over = await survives(scenario, world, opened(), options, saves);
      const ran = world.nodes.length;
      const agent = scenario.build(world, opened(), options);
      const saved = await latestOf(agent).catch(() => undefined);
      expect(await agent.run("go", runOptions)).toEqual(whole.result);
      expect(world.nodes.slice(ran)).toEqual(whole.world.nodes.slice(saved?.iteration ?? 0));
      expect(world.effects).toEqual(whole.world.effects);
      expect(restoredBy(await latestOf(agent))).toEqual(whole.state);
    }
  });
});

/** Not a call of the tool without effect, nor of the idempotent one: those may run again. */
function isOnceOnly(world: World, id: string): boolean {
  const toolName = world.effects.get(id)?.tool ?? "broken";
  return toolName !== "look" && toolName !== "plan";
}

describe("a storage after a simulated crash", () => {
  const agentOn = (storage: PersistenceStorageProvider) =>
    new AIAgent({ promptExecutor: scriptedModel(["Hi."]), llmModel: "none" }).install(Persistence, { storage });

  it("deletes no agent", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await agentOn(storage).run("go", { agentId: "a" });
    const crashed = persistence(agentOn(crashAfter(storage, 0)));
    await expect(crashed.deleteAgent("a")).rejects.toSatisfy(isCrash);
    expect(await persistence(agentOn(storage)).agent("a").getLatestCheckpoint()).toBeDefined();
  });

  it("stores no large values", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const put = vi.spyOn(storage.log.blobs, "put");
    const run = agentOn(crashAfter(storage, 0)).run("x".repeat(200_000), { agentId: "a" });
    await expect(run).rejects.toSatisfy(isCrash);
    expect(put).not.toHaveBeenCalled();
    await agentOn(crashAfter(storage, 1))
      .run("x".repeat(200_000), { agentId: "a" })
      .catch(() => undefined);
    expect(put).toHaveBeenCalledOnce();
  });

  it("describes the end of a log as the storage below does", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const owned = await storage.log.open("a", { host: "here", processId: 1, nonce: "1" });
    const state = { tornTail: { bytes: 3 }, rebuilt: { file: "state.json" } };
    vi.spyOn(storage.log, "open").mockResolvedValue(Object.assign(owned, state) as never);
    const { log } = crashAfter(storage, 1) as LogPersistenceStorageProvider;
    expect(await log.open("a", { host: "here", processId: 1, nonce: "2" })).toMatchObject(state);
  });
});
